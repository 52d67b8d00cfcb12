"""A law: what it says of problems, which problems it applies to, and how good it is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from recallscope.common.progress_bar import ProgressCallback
from recallscope.problem.part import Part
from recallscope.problem.problem import Problem

if TYPE_CHECKING:
    from recallscope.problem.given_embeddings import Embeddings
    from recallscope.theory.question import Capacity, Question
    from recallscope.theory.recorded_error import ComparedProblem, RecordedError


class LawKind(StrEnum):
    """Where a law comes from."""

    DERIVED = "derived"
    FITTED = "fitted"
    PUBLISHED = "published"


class Given(NamedTuple):
    """A law's further inputs: arrays that problems name, and the caller's wishes.

    Attributes:
        embeddings: arrays that the problems name.
        details: whether noises and exponents are wanted too, which may take longer.
        progress: called with (work done, work in all).

    >>> Given().details
    False
    """

    embeddings: Embeddings | None = None
    details: bool = False
    progress: ProgressCallback = lambda done, total: None

    def _part(self, before: float, mine: float, whole: float) -> Given:
        """The same for a part of the work, which reports how far the whole of it has come."""

        def progress(done: float, total: float) -> None:
            self.progress(min(before + mine * done / total, whole), whole)

        return self._replace(progress=progress)


NOTHING_GIVEN = Given()
_EVERY_SIZE = -math.inf, math.inf


class Factor(NamedTuple):
    """One of the factors of recall, and where it comes from.

    Attributes:
        value: the number, 0 to 1.
        origin: derived, measured or how else it is known, in words.

    >>> Factor(0.9, "derived").value
    0.9
    """

    value: float
    origin: str


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer of a law for one problem.

    Attributes:
        accuracies: by name, as `recall_accuracy`.
        intervals: expected to have 90 % of runs, if the law has better ones than from its errors.
        factors: what the recall is the product of, where it is one.
        noise: by stage and term, variances in units of the squared signal.
        dominant: the stage that limits recall, and the noise that limits the stage.
        exponents: of each size in the dominant noise, far into its regime.
        slopes: the same at these very sizes.
        quantities: other numbers, by name, such as the parameters of a memory.
        errors: numerical standard errors of the accuracies.
        reason: why the law has no numbers after all.

    >>> Answer(accuracies={"recall_accuracy": 0.5}).reason is None
    True
    """

    accuracies: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    factors: Mapping[str, Factor] = field(default_factory=dict)
    noise: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    dominant: tuple[str, str] | None = None
    exponents: Mapping[str, float] = field(default_factory=dict)
    slopes: Mapping[str, float] = field(default_factory=dict)
    quantities: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    reason: str | None = None


Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Law(Part, ABC):
    """A law: the source of predictions, and what an entry point `recallscope.laws` names.

    The law with the highest priority that applies to a problem answers for it. A law adds no fields
    to problems.

    Attributes:
        kind: derived, fitted or published.
        priority: our laws have 0 to 100; above 100 comes before all of them.
        tested: the smallest and the largest sizes at which it was compared with experiments.
        widens: how much wider an interval is, for each factor of e beyond the tested sizes.
        step: the factor between the sizes that `solve` tries first.
        close: the factor between two sizes that count as the same in `solve`.
        about: what the numbers are about, in front of them.
        origin: where they come from, as a sentence under a figure.
    """

    kind_of_part = "law"
    kind: ClassVar[LawKind | str]
    priority: ClassVar[int] = 0
    tested: ClassVar[Ranges] = {}
    widens: ClassVar[float] = 1.0
    step: ClassVar[float] = 2.0
    close: ClassVar[float] = 1.0
    about: ClassVar[str] = "predicted"
    origin: ClassVar[str] = ""

    def __post_init__(self) -> None:
        LawKind(self.kind)

    @abstractmethod
    def applies(self, problem: Problem) -> str | None:
        """Why the law says nothing of a problem; None if it does."""

    @abstractmethod
    def predict(self, problems: Sequence[Problem], given: Given) -> Sequence[Answer]:
        """An answer for each of the problems; it applies to all of them."""

    def untested(self, problem: Problem) -> list[str]:
        """What else of a problem it was not compared at."""
        return []

    def recorded_error(
        self, problem: Problem, accuracy: str, predicted: float
    ) -> RecordedError | None:
        """How far off it was near a problem, given an accuracy and its prediction."""
        return None

    def comparisons(self) -> Sequence[ComparedProblem]:
        """The problems of experiments that it was compared with, and both accuracies."""
        return ()

    def solved(self, problem: Problem, size: str) -> tuple[float, float]:
        """The sizes that `solve` may try, given a problem and the size sought."""
        return _EVERY_SIZE

    def bottleneck(
        self, problems: Sequence[Problem], accuracy: str
    ) -> Sequence[tuple[str | None, str | None]]:
        """The stage and the noise that limit an accuracy, for each of the problems, if known."""
        return [(None, None)] * len(problems)

    def capacity(self, question: Question) -> Capacity | str | None:
        """What the law says of a question of `plan`, or why it says nothing.

        None is for a law that is asked about the problem of the question, if it has one.
        """
        return None

    def seconds(self, problem: Problem) -> float:
        """About how long a prediction of one problem takes."""
        return 0.0

    def explain(self, problem: Problem, answer: Answer) -> str:
        """A sentence or more on an answer, for a table of it."""
        return ""
