"""Facts alone: one token to a sequence, its image to be answered.

This is the associative memory of published results, linear or with an MLP. Attention has nothing to
find, and all facts occur equally often.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recallscope.common.errors import ProblemError
from recallscope.problem.facts import facts_of
from recallscope.problem.frequencies import check_frequencies, frequencies_of
from recallscope.problem.problem import Problem
from recallscope.task.kind import FactTask
from recallscope.task.recall import RecallTask, Samples, check_split


class Memory(RecallTask):
    """The facts one after another, over and over; tests ask for the same facts.

    Facts of unequal frequency are drawn at random.

    >>> task = Memory(vocab=4, length=1, seed=0)
    >>> sorted(task.draw(0, 8).tokens[:, 0].tolist())
    [0, 0, 1, 1, 2, 2, 3, 3]
    """

    def draw(self, start: int, stop: int, split: str = "train") -> Samples:
        """Samples start…stop−1, the same to train on and to test."""
        check_split(split)
        tokens = np.arange(start, stop, dtype=np.int64) % self.facts
        if self.frequencies is not None and split != "each":
            tokens = super().draw(start, stop, split).tokens[:, 0]
        return Samples(tokens[:, None], np.zeros_like(tokens), self.answers[tokens])


@dataclass(frozen=True)
class MemoryTask(FactTask):
    """Sequences of one token."""

    equal_facts = True
    in_turn = True

    def make(self, problem: Problem, seed: int) -> Memory:
        """The facts of a seed."""
        facts = facts_of(problem)
        probability = frequencies_of(problem, facts)
        return Memory(problem.vocab, problem.length, seed, facts=facts, frequencies=probability)

    def check(self, problem: Problem) -> None:
        """Raise for longer sequences, or frequencies that cannot be."""
        check_frequencies(problem, facts_of(problem))
        if problem.length != 1:
            raise ProblemError(
                f"the task memory has one token to a sequence, but length is {problem.length}; "
                "give length=1"
            )


PART = MemoryTask()
