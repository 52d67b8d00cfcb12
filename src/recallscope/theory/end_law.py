"""The law of the end: what recall comes to if the model is trained until it learns no more.

Recall = attention × facts seen × memory. The memory is derived (`memory_recall`); how often
attention finds the mark is fitted, as a function of how clearly the first steps point to it.
docs/end-of-training.md has both, and how they were judged.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit  # type: ignore[import-untyped]

from recallscope.parts.naming import find_part
from recallscope.problem import Problem
from recallscope.theory.locking import locking
from recallscope.theory.memory_edge import Edge, edge
from recallscope.theory.memory_recall import Facts, equally_often, facts_seen, memory_recall
from recallscope.theory.problem_arrays import problem_arrays
from recallscope.theory.readout import means

FOUND = {"gd": (3.7, 0.75, 0.45), "adam": (2.2, 0.95, 1.5), "muon": (2.2, 0.95, 1.5)}
"""Measured (studies/end_law.py): how often attention finds the mark, as the logistic function of a
constant, of the logarithm of the clarity and of that of the samples for each fact."""

BLUR = 2.5
"""Measured: how much wider the edge is in a thousand steps, with attention that learns too."""


class End(NamedTuple):
    """What recall at the end is the product of, and where a memory of the facts found is full."""

    lock: float
    facts_seen: float
    memory: float
    parameters: int
    edge: Edge

    @property
    def recall(self) -> float:
        """The three together."""
        return self.lock * self.facts_seen * self.memory


def clarity(problem: Problem) -> float:
    """How clearly the first steps point to the mark: the trigger's score, in its deviations.

    >>> round(clarity(Problem(vocab=128, samples=256, dim=40, length=32)), 1)
    3.4
    """
    sizes = ("vocab", "samples", "dim", "length")
    s = problem_arrays(**{name: getattr(problem, name) for name in sizes})
    scores = locking(s, means(s))
    return float(scores.signal[0] / np.sqrt(scores.trigger_variance[0]))


def end_of_training(problem: Problem) -> End:
    """The law for one problem that it is about.

    >>> end = end_of_training(Problem(vocab=256, samples=1024, dim=48, length=16, learner="gd"))
    >>> round(end.facts_seen, 2), round(end.recall, 2)
    (0.98, 0.98)
    """
    facts = _facts(problem)
    seen = float(facts.number.sum())
    parameters = problem.dim * (problem.width or problem.dim)
    lock, blur = 1.0, 1.0
    if problem.learner in FOUND:
        constant, of_clarity, of_samples = FOUND[problem.learner]
        per_fact = problem.samples / problem.vocab
        odds = of_clarity * math.log(clarity(problem)) + of_samples * math.log(per_fact)
        lock, blur = float(expit(constant + odds)), BLUR
    # A fact that attention does not find takes no room.
    found = Facts(lock * facts.number, facts.times)
    memory = memory_recall(problem.vocab, parameters, found, blur)
    return End(lock, seen / problem.vocab, memory, parameters, edge(problem.vocab, lock * seen))


def _facts(problem: Problem) -> Facts:
    if find_part("task", problem.task).in_turn:
        return equally_often(min(problem.samples, problem.vocab))
    return facts_seen(problem.vocab, problem.samples)
