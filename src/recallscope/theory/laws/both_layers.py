"""A memory behind an MLP whose layers are both trained: its recall is measured, and interpolated.

It depends on m·d over V ln V alone, as far as it was looked at (the study both_layers).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit  # type: ignore[import-untyped]

from recallscope.problem.problem import Problem
from recallscope.theory import end_answers
from recallscope.theory.law import Answer, Given, Law, LawKind, Ranges

_STEPS = 1000  # at least
_SHARE, _RECALL = np.array([0.207, 0.265, 0.317, 0.385]), np.array([0.22, 0.4, 0.69, 0.995])
_ERROR = 0.08
"""Measured: m·d for a recall is within it, from 64 to 1024 facts."""


def _answer(problem: Problem) -> Answer:
    facts = min(problem.samples, problem.vocab)
    share = problem.hidden * problem.dim / (facts * math.log(problem.vocab))
    low, value, high = (
        facts / problem.vocab * _recall(share * factor) for factor in (1 - _ERROR, 1.0, 1 + _ERROR)
    )
    return Answer(
        accuracies={"recall_accuracy": value},
        intervals={"recall_accuracy": (low, high)},
        quantities={"parameters": 2 * problem.hidden * problem.dim, "share": share},
    )


def _recall(share: float) -> float:
    """Of all facts: logits are straight between the shares looked at, and beyond them."""
    place = int(np.clip(np.searchsorted(_SHARE, share) - 1, 0, len(_SHARE) - 2))
    at, odds = np.log(_SHARE[place : place + 2]), logit(_RECALL[place : place + 2])
    slope = (odds[1] - odds[0]) / (at[1] - at[0])
    return float(expit(odds[0] + slope * (math.log(share) - at[0])))


@dataclass(frozen=True)
class BothLayers(Law):
    """A memory behind an MLP with both layers trained."""

    kind = LawKind.FITTED
    priority = 57
    about = "predicted after training"
    origin = "Both layers of an MLP: measured and interpolated, attention is given."
    tested: ClassVar[Ranges] = {"vocab": (64, 1024), "width per dim": (1, 2)}

    def applies(self, problem: Problem) -> str | None:
        """Why the law says nothing of a problem; None if it does."""
        if problem.learner != "adam" or problem.width is None or not problem["learn_mlp"]:
            return "no law of both layers but for an MLP that adam trains with learn_mlp"
        if problem["steps"] < _STEPS:
            return f"no law of both layers at steps {problem['steps']}"
        free = ("steps", "learn_mlp")
        return end_answers.refusal(problem, free, task="memory", activation="relu")

    def predict(self, problems: Sequence[Problem], given: Given) -> list[Answer]:
        """An answer for each of the problems."""
        return [_answer(problem) for problem in problems]

    def explain(self, problem: Problem, answer: Answer) -> str:
        """A sentence or more on an answer."""
        return (
            f"m·d is {answer.quantities['share']:.3f} of V ln V; 0.38 store 99 % of the facts, "
            "with both layers trained (published: 0.35)."
        )


PART = BothLayers()
