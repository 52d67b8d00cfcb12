"""The interface of a task: where the samples of a problem come from."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from recallscope.problem.facts import inputs_of
from recallscope.problem.frequencies import Frequencies
from recallscope.problem.part import Part, problem_field
from recallscope.problem.problem import Problem
from recallscope.task.examples import ExampleSource, SampleSource


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
