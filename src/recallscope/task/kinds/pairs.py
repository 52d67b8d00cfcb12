"""Random sequences, each with a random label: pairs to be stored, and nothing else to be learnt.

This is the setting of Song and Ye: a fact is a whole sequence, not one token. Sequences are drawn
one by one and may coincide, with different labels. There may be at most a hundredth as many facts
as sequences, so at most about 1 % of facts have the sequence of another. Ours differs in that
labels are tokens of the same vocabulary, and in that tests ask for the same facts in turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recallscope.common.errors import ProblemError
from recallscope.common.shapes import Int64
from recallscope.problem.facts import facts_of
from recallscope.problem.frequencies import check_frequencies
from recallscope.problem.problem import Problem
from recallscope.task.examples import Examples
from recallscope.task.fact_samples import FactDistribution, check_facts, check_range, drawn_facts
from recallscope.task.kind import FactTask
from recallscope.task.random import Role, below, words

_SEQUENCES_PER_FACT = 100


class Pairs:
    """The facts one after another, over and over, the same to train on and to test.

    Fact i is a pure function of (seed, vocab, length, i). Facts of unequal frequency are drawn at
    random, from a table of all of them.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        self.seed, self.vocab, self.length = seed, problem.vocab, problem.length
        self.facts = FactDistribution(problem)

    def examples(self, start: int, stop: int, split: str = "train") -> Examples:
        """Examples start…stop−1: sample i is fact i modulo their number, or a drawn one."""
        check_range(start, stop, split)
        if self.facts.frequencies is not None and split != "each":
            sizes = (self.vocab, self.length)
            fact, _ = drawn_facts(self.seed, sizes, self.facts, 0, start, stop, split)
            return self._examples(self._every[fact], fact)
        facts, first, count = self.facts.number, start % self.facts.number, np.arange(stop - start)
        until = first + len(count)
        again = min(max(until - facts, 0), first)  # facts that come after the last one
        pairs = np.concatenate([self._pairs(first, min(until, facts)), self._pairs(0, again)])
        return self._examples(pairs[count % facts], (first + count) % facts)

    def _examples(
        self, pairs: Int64[np.ndarray, "n L+1"], fact: Int64[np.ndarray, " n"]
    ) -> Examples:
        return self.facts.examples(pairs[:, :-1], pairs[:, -1], fact)

    @cached_property
    def _every(self) -> Int64[np.ndarray, "facts L+1"]:
        return self._pairs(0, self.facts.number)

    def _pairs(self, start: int, stop: int) -> Int64[np.ndarray, "n L+1"]:
        """The sequences of facts start…stop−1, and in the last column their labels."""
        sizes, width = (self.vocab, self.length), self.length + 1
        random = words(self.seed, Role.FACTS, *sizes, start=start * width, stop=stop * width)
        return below(self.vocab, random).reshape(stop - start, width)


@dataclass(frozen=True)
class PairsTask(FactTask):
    """Random sequences with random labels."""

    in_turn = True
    has_mark = False

    def make(self, problem: Problem, seed: int) -> Pairs:
        """The pairs of a seed."""
        return Pairs(problem, seed)

    def check(self, problem: Problem) -> None:
        """Raise where sequences would often coincide, or frequencies cannot be."""
        facts = facts_of(problem)
        if self.frequencies == "uniform":
            check_frequencies(problem, facts)
        else:
            check_facts(problem)  # of which a table is made
        if math.log(_SEQUENCES_PER_FACT * facts) > problem.length * math.log(problem.vocab) + 1e-9:
            raise ProblemError(
                f"the task pairs draws sequences at random: {facts:,} facts of {problem.length} "
                f"out of {problem.vocab:,} tokens would often coincide; raise length, or choose "
                "fewer facts"
            )

    def number_of_ids(self, problem: Problem) -> int:
        """As many as tokens."""
        return problem.vocab


PART = PairsTask()
