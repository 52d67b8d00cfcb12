"""The interface of a task: where the samples of a problem come from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from recallscope.common.frequencies import FREQUENCIES
from recallscope.parts.field import Field
from recallscope.parts.naming import find_part
from recallscope.problem import Problem, no_check

if TYPE_CHECKING:
    from recallscope.tasks.examples import Examples
    from recallscope.tasks.recall import Samples


FACTS = {
    "facts": Field(
        default=0,
        low=0,
        monotone=-1,
        help="How many facts there are to learn; 0 for as many as tokens.",
    ),
} | FREQUENCIES
"""The fields of tasks that learn facts."""


class SampleSource(Protocol):
    """Samples of one problem at one seed, each of them a pure function of its number."""

    def draw(self, start: int, stop: int, split: str = "train") -> Samples:
        """Samples start…stop−1: tokens (n×L), the marked position and the label of each.

        Tokens and labels are whole numbers below `vocab`. The split 'test' shares no sample with
        'train'; 'each', where a source has it, asks for every fact in turn.
        """


class ExampleSource(Protocol):
    """The same for a task without a trigger."""

    def examples(self, start: int, stop: int, split: str = "train") -> Examples:
        """Examples start…stop−1, with the splits of `SampleSource.draw`."""


def _as_many_as_tokens(problem: Problem) -> int:
    return problem.vocab


def _facts_or_tokens(problem: Problem) -> int:
    return getattr(problem, "facts", 0) or problem.vocab


def _with_trigger_and_end(problem: Problem) -> int:
    return inputs_of(problem) + 2


def _uniform_labels(problem: Problem) -> float:
    return math.log2(find_part("task", problem.task).labels(problem))


@dataclass(frozen=True, kw_only=True)
class Task:
    """A kind of task.

    Attributes:
        make: the samples of a problem at a seed.
        fields: what it adds to problems.
        check: raises `ProblemError` for a problem that it cannot serve.
        closed_form: whether the formulas for a permutation are right for it.
        equal_facts: whether every token is marked equally often, and its label is the image under
            the `permutation` of the samples. Results for infinitely many samples rely on it.
        in_turn: whether facts are seen one after another, each as often as the others.
        has_mark: whether a position is marked; without, ids say all, and models read ids alone.
        labels: how many labels there are; as many as tokens by default.
        facts: how many facts there are; the field `facts`, or as many as tokens, by default.
        ids: how many ids sequences have in all; by default tokens, trigger and end.
        bits: of one answer, in the mean; by default those of a uniform label.
        name: needed only if it is passed as an object.
        version: raised when the same problem and seed give another record; part of record keys. Of
            an object it replaces the hash of its source.
    """

    make: Callable[[Problem, int], SampleSource | ExampleSource]
    fields: Mapping[str, Field] = field(default_factory=dict)
    check: Callable[[Problem], None] = no_check
    closed_form: bool = False
    equal_facts: bool = False
    in_turn: bool = False
    has_mark: bool = True
    labels: Callable[[Problem], int] = _as_many_as_tokens
    facts: Callable[[Problem], int] = _facts_or_tokens
    ids: Callable[[Problem], int] = _with_trigger_and_end
    bits: Callable[[Problem], float] = _uniform_labels
    name: str = ""
    version: int | None = None


def samples_of(problem: Problem, seed: int) -> SampleSource:
    """The samples of a problem at a seed.

    >>> problem = Problem(vocab=64, samples=1, dim=8, length=4)
    >>> samples_of(problem, seed=0).draw(0, 10).tokens.shape
    (10, 4)
    """
    source: SampleSource = find_part("task", problem.task).make(problem, seed)
    return source


def facts_of(problem: Problem) -> int:
    """How many facts a problem has.

    >>> facts_of(Problem(vocab=64, samples=1, dim=8, length=4, facts=100, learner="adam"))
    100
    """
    found: int = find_part("task", problem.task).facts(problem)
    return found


def inputs_of(problem: Problem) -> int:
    """How many different tokens sequences may have: those of the vocabulary, and one for each fact.

    Without a trigger, no fact has a token to itself.

    >>> inputs_of(Problem(vocab=64, samples=1, dim=8, length=4, facts=100, learner="adam"))
    100
    """
    marked = find_part("task", problem.task).has_mark
    return max(problem.vocab, facts_of(problem)) if marked else problem.vocab
