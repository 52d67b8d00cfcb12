"""A law: what it says of problems, which problems it applies to, and how good it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from recallscope.common.progress_bar import ProgressCallback
from recallscope.parts.field import Field
from recallscope.problem import Problem, no_check

if TYPE_CHECKING:
    from recallscope.models.embeddings import Embeddings
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


@dataclass(frozen=True, kw_only=True)
class Law:
    """A law: the source of predictions, and what an entry point `recallscope.laws` names.

    The law with the highest priority that applies to a problem answers for it.

    Attributes:
        applies: why the law says nothing of a problem; None if it does.
        predict: an answer for each of the problems; it applies to all of them.
        kind: derived, fitted or published.
        priority: our laws have 0 to 100; above 100 comes before all of them.
        tested: the smallest and the largest sizes at which it was compared with experiments.
        untested: what else of a problem it was not compared at.
        recorded_error: how far off it was near a problem, given an accuracy and its prediction.
        comparisons: the problems of experiments that it was compared with, and both accuracies.
        widens: how much wider an interval is, for each factor of e beyond the tested sizes.
        solved: the sizes that `solve` may try, given a problem and the size sought.
        bottleneck: the stage and the noise that limit an accuracy, for each of the problems.
        capacity: what the law says of a question of `plan`, or why it says nothing. A law without
            it is asked about the problem of the question, if it has one.
        seconds: about how long a prediction of one problem takes.
        step: the factor between the sizes that `solve` tries first.
        close: the factor between two sizes that count as the same in `solve`.
        about: what the numbers are about, in front of them.
        origin: where they come from, as a sentence under a figure.
        explain: a sentence or more on an answer, for a table of it.
        name: needed only if it is passed as an object.
        fields: as of every part; a law adds none to problems.
        check: as of every part.
        version: raised when the same problem gets another answer.
    """

    applies: Callable[[Problem], str | None]
    predict: Callable[[Sequence[Problem], Given], Sequence[Answer]]
    kind: LawKind | str
    priority: int = 0
    tested: Ranges = field(default_factory=dict)
    untested: Callable[[Problem], list[str]] = lambda problem: []
    recorded_error: Callable[[Problem, str, float], RecordedError | None] = (
        lambda problem, accuracy, predicted: None
    )
    comparisons: Callable[[], Sequence[ComparedProblem]] = lambda: ()
    widens: float = 1.0
    solved: Callable[[Problem, str], tuple[float, float]] = lambda problem, size: _EVERY_SIZE
    bottleneck: Callable[[Sequence[Problem], str], Sequence[tuple[str, str]]] | None = None
    capacity: Callable[[Question], Capacity | str] | None = None
    seconds: Callable[[Problem], float] = lambda problem: 0.0
    step: float = 2.0
    close: float = 1.0
    about: str = "predicted"
    origin: str = ""
    explain: Callable[[Problem, Answer], str] = lambda problem, answer: ""
    name: str = ""
    fields: Mapping[str, Field] = field(default_factory=dict)
    check: Callable[[Problem], None] = no_check
    version: int = 1

    def __post_init__(self) -> None:
        LawKind(self.kind)
