"""The interface of a task: where the samples of a problem come from."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from recallscope.common.frequencies import Frequencies
from recallscope.parts.part import Part, problem_field
from recallscope.problem import Problem

if TYPE_CHECKING:
    from recallscope.tasks.examples import Examples
    from recallscope.tasks.recall import Samples


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


@dataclass(frozen=True)
class Task(Part, ABC):
    """A kind of task.

    Attributes:
        closed_form: whether the formulas for a permutation are right for it.
        equal_facts: whether every token is marked equally often, and its label is the image under
            the `permutation` of the samples. Results for infinitely many samples rely on it.
        in_turn: whether facts are seen one after another, each as often as the others.
        has_mark: whether a position is marked; without, ids say all, and models read ids alone.
    """

    kind_of_part = "task"
    closed_form: ClassVar[bool] = False
    equal_facts: ClassVar[bool] = False
    in_turn: ClassVar[bool] = False
    has_mark: ClassVar[bool] = True

    @abstractmethod
    def make(self, problem: Problem, seed: int) -> SampleSource | ExampleSource:
        """The samples of a problem at a seed."""

    def number_of_labels(self, problem: Problem) -> int:
        """How many labels there are; as many as tokens."""
        return problem.vocab

    def number_of_facts(self, problem: Problem) -> int:
        """How many facts there are; as many as tokens."""
        return problem.vocab

    def number_of_ids(self, problem: Problem) -> int:
        """How many ids sequences have in all: tokens, trigger and end."""
        return inputs_of(problem) + 2

    def bits_of_answer(self, problem: Problem) -> float:
        """Bits of one answer, in the mean: those of a uniform label."""
        return math.log2(self.number_of_labels(problem))


@dataclass(frozen=True)
class FactTask(Frequencies, Task):
    """A task with as many facts as a problem says, which may differ in frequency."""

    facts: int = problem_field(
        0, low=0, monotone=-1, help="How many facts there are to learn; 0 for as many as tokens."
    )

    def number_of_facts(self, problem: Problem) -> int:
        """The field, or as many as tokens."""
        return self.facts or problem.vocab


def samples_of(problem: Problem, seed: int) -> SampleSource:
    """The samples of a problem at a seed.

    >>> problem = Problem(vocab=64, samples=1, dim=8, length=4)
    >>> samples_of(problem, seed=0).draw(0, 10).tokens.shape
    (10, 4)
    """
    source: SampleSource = problem.part("task").make(problem, seed)
    return source


def facts_of(problem: Problem) -> int:
    """How many facts a problem has.

    >>> facts_of(Problem(vocab=64, samples=1, dim=8, length=4, facts=100, learner="adam"))
    100
    """
    number: int = problem.part("task").number_of_facts(problem)
    return number


def inputs_of(problem: Problem) -> int:
    """How many different tokens sequences may have: those of the vocabulary, and one for each fact.

    Without a trigger, no fact has a token to itself.

    >>> inputs_of(Problem(vocab=64, samples=1, dim=8, length=4, facts=100, learner="adam"))
    100
    """
    marked = problem.part("task").has_mark
    return max(problem.vocab, facts_of(problem)) if marked else problem.vocab
