"""Biographies: people with names of three tokens, and eight attributes to be recalled of each.

These are the people of Allen-Zhu and Li (bioS, arXiv 2404.05405), with as many names and values:
47.6 bits for a person. Here there are no sentences. A sequence is a name and a question, a value is
one token, and values are independent of each other. Names are distinct, and each part of them is
about equally frequent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recallscope.common.errors import ProblemError
from recallscope.common.shapes import Int64
from recallscope.problem.frequencies import Frequencies
from recallscope.problem.problem import Problem
from recallscope.task.examples import Examples
from recallscope.task.fact_samples import FactDistribution, check_facts, drawn_facts
from recallscope.task.kind import Task
from recallscope.task.random import Role, generator

_COUNTS = np.array([12, 28, 200, 200, 300, 100, 263, 2])
"""Values of birth month, day, year and city, university, major, employer and gender."""
_QUESTIONS, _VALUES = len(_COUNTS), int(_COUNTS.sum())
_PARTS = (400, 400, 1000)
"""First, middle and last names."""
_NAMES = math.prod(_PARTS)
_BEGIN = np.cumsum([_VALUES, *_PARTS])
"""The first id of each place: three parts of a name, and the question."""
_STRIDE = 98_885_439  # has no divisor in common with the number of names


class Biographies:
    """Samples of a problem at a seed: ids of values first, then parts of names, then questions.

    Fact number `person * 8 + attribute` is the value of a person's attribute.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        self.seed, self.vocab = seed, problem.vocab
        self.facts = FactDistribution(problem)
        self.first_name = int(generator(seed, Role.TOKENS).integers(_NAMES))

    @cached_property
    def value_of(self) -> Int64[np.ndarray, " facts"]:
        """The value of each fact, as an id."""
        random = generator(self.seed, Role.FACTS, self.vocab)
        values = random.integers(_COUNTS, size=(self.vocab, _QUESTIONS))
        ids: Int64[np.ndarray, "people 8"] = values + np.cumsum(_COUNTS) - _COUNTS
        return ids.ravel()

    def examples(self, start: int, stop: int, split: str = "train") -> Examples:
        """Examples start…stop−1; 'each' asks for every fact in turn."""
        fact, _ = drawn_facts(self.seed, (self.vocab,), self.facts, 0, start, stop, split)
        # Indices modulo a number stay different when multiplied by a factor coprime to it.
        name = (self.first_name + _STRIDE * (fact // _QUESTIONS)) % _NAMES
        ids = np.stack((*np.unravel_index(name, _PARTS), fact % _QUESTIONS), axis=1) + _BEGIN
        return self.facts.examples(ids, self.value_of[fact], fact)


@dataclass(frozen=True)
class BiographiesTask(Frequencies, Task):
    """Eight attributes of each of `vocab` people."""

    has_mark = False

    def make(self, problem: Problem, seed: int) -> Biographies:
        """The people of a seed."""
        return Biographies(problem, seed)

    def check(self, problem: Problem) -> None:
        """Raise unless there is room for a name and a question, and for all facts."""
        if problem.length != len(_BEGIN):
            raise ProblemError(
                "the task biographies has a name of three tokens and a question in each sequence, "
                f"but length is {problem.length}; give length={len(_BEGIN)}"
            )
        check_facts(problem)

    def number_of_labels(self, problem: Problem) -> int:
        """The values of all attributes."""
        return _VALUES

    def number_of_facts(self, problem: Problem) -> int:
        """Eight of each person."""
        return _QUESTIONS * problem.vocab

    def number_of_ids(self, problem: Problem) -> int:
        """Values, parts of names and questions."""
        return int(_BEGIN[-1]) + _QUESTIONS

    def bits_of_answer(self, problem: Problem) -> float:
        """The mean over the attributes."""
        return float(np.log2(_COUNTS).mean())


PART = BiographiesTask()
