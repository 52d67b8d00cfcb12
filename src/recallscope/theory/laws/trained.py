"""The end of training by gradients: attention is a fitted law, the memory is derived."""

from __future__ import annotations

from recallscope.problem import Problem
from recallscope.theory.end_answers import (
    MEASURED,
    explain_end,
    predict_end,
    recorded_error_of_end,
    refusal,
    training_comparisons,
)
from recallscope.theory.end_law import FOUND
from recallscope.theory.law import Law, LawKind


def _applies(problem: Problem) -> str | None:
    if problem.learner not in FOUND:
        return f"no law of training for the learner {problem.learner}"
    return refusal(problem, MEASURED, task="recall", width=None)


PART = Law(
    applies=_applies,
    predict=predict_end,
    kind=LawKind.FITTED,
    priority=60,
    tested=MEASURED,
    recorded_error=recorded_error_of_end,
    comparisons=lambda: training_comparisons(FOUND),
    seconds=lambda problem: 0.5,
    about="predicted after training",
    origin="After training: the memory is derived, attention is a fitted law.",
    explain=explain_end,
)
