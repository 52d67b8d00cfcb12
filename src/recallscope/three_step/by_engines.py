"""Which three steps are those of the paper, for which there are engines. No torch is needed."""

from __future__ import annotations

from recallscope.common.errors import ProblemError
from recallscope.problem.facts import facts_of
from recallscope.problem.problem import Problem

PAPER = {"task": "recall", "model": "transformer", "loss_function": "cross-entropy"}
"""The fields of a problem that make its three steps those of the paper."""


def by_engines(problem: Problem) -> bool:
    """Whether three steps of a problem are those of the paper, for which there are engines.

    >>> by_engines(Problem(vocab=64, samples=512, dim=16, length=4))
    True
    """
    ours = all(problem[name] == value for name, value in PAPER.items())
    return ours and facts_of(problem) == problem.vocab


def check_literal(problem: Problem) -> None:
    """Raise in the limit, which is known for the paper's system alone."""
    if problem.regime == "literal":
        return
    other = [
        f"{name.replace('_', ' ')} {value}"
        for name, usual in PAPER.items()
        if (value := getattr(problem, name, "of yours")) != usual
    ]
    if facts_of(problem) != problem.vocab:
        other.append(f"{facts_of(problem)} facts of {problem.vocab} tokens")
    raise ProblemError(
        "three steps in the limit are known for the task recall with a fact for every token, the "
        f"model transformer and the loss function cross-entropy, not for {', '.join(other)}; give "
        "regime=literal, with eta and gamma"
    )
