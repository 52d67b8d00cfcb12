"""Which three steps are those of the paper, for which there are engines. No torch is needed."""

from __future__ import annotations

from recallscope.problem import Problem
from recallscope.tasks.kind import facts_of

PAPER = {"task": "recall", "model": "transformer", "loss_function": "cross-entropy"}
"""The fields of a problem that make its three steps those of the paper."""


def by_engines(problem: Problem) -> bool:
    """Whether three steps of a problem are those of the paper, for which there are engines.

    >>> by_engines(Problem(vocab=64, samples=512, dim=16, length=4))
    True
    """
    ours = all(problem[name] == value for name, value in PAPER.items())
    return ours and facts_of(problem) == problem.vocab
