"""The common part of tasks without a trigger: which fact each sample asks for, and its answer."""

from __future__ import annotations

import numpy as np

from recallscope.common.checks import LARGEST_SEED, whole_number
from recallscope.common.errors import ProblemError
from recallscope.common.shapes import Int64, UInt64
from recallscope.problem.facts import facts_of
from recallscope.problem.frequencies import (
    check_frequencies,
    cumulated,
    facts_at,
    frequencies_of,
    frequency_classes,
)
from recallscope.problem.problem import Problem
from recallscope.task.examples import Examples
from recallscope.task.random import below, words
from recallscope.task.recall import SPLITS, check_split

_LARGEST_TABLE = 10**7


def check_range(start: int, stop: int, split: str) -> None:
    """Raise unless there are such samples."""
    check_split(split)
    whole_number("stop", stop, whole_number("start", start, 0, LARGEST_SEED), LARGEST_SEED)


def check_facts(problem: Problem) -> None:
    """Raise for more facts than a table of their answers may have, or mistaken frequencies."""
    check_frequencies(problem, facts_of(problem))
    if (facts := facts_of(problem)) > _LARGEST_TABLE:
        raise ProblemError(
            f"the task {problem.task} keeps the answer of each fact and has at most "
            f"{_LARGEST_TABLE:,} of them, not {facts:,}; choose a smaller vocab"
        )


class FactDistribution:
    """How many facts a problem has, and how often each is seen."""

    def __init__(self, problem: Problem) -> None:
        self.number = facts_of(problem)
        self.frequencies = frequencies_of(problem, self.number)
        if self.frequencies is not None:
            self._ends = cumulated(self.frequencies)
            self._classes = frequency_classes(self.frequencies)

    def drawn(self, random: UInt64[np.ndarray, " n"]) -> Int64[np.ndarray, " n"]:
        """A fact for each random word."""
        if self.frequencies is None:
            return below(self.number, random)
        return facts_at(self._ends, random)

    def examples(
        self,
        ids: Int64[np.ndarray, "n T"],
        answer: Int64[np.ndarray, " n"],
        fact: Int64[np.ndarray, " n"],
    ) -> Examples:
        """Examples without a mark."""
        classes = np.zeros_like(fact) if self.frequencies is None else self._classes[fact]
        return Examples(input_ids=ids, answer=answer, fact=fact, frequency_class=classes)


def drawn_facts(
    seed: int,
    sizes: tuple[int, ...],
    facts: FactDistribution,
    more: int,
    start: int,
    stop: int,
    split: str,
) -> tuple[Int64[np.ndarray, " n"], UInt64[np.ndarray, "n more"]]:
    """The facts of samples start…stop−1, drawn or in turn, and `more` random words for each.

    >>> facts = FactDistribution(Problem(vocab=3, samples=1, dim=2, length=2))
    >>> drawn_facts(0, (64,), facts, 2, 0, 4, "each")[0].tolist()
    [0, 1, 2, 0]
    """
    check_range(start, stop, split)
    width = more + 1
    random = words(seed, SPLITS[split], *sizes, start=start * width, stop=stop * width)
    random = random.reshape(stop - start, width)
    in_turn = split == "each"
    fact = np.arange(start, stop) % facts.number if in_turn else facts.drawn(random[:, 0])
    return fact, random[:, 1:]
