"""The end of training by gradients: attention is a fitted law, the memory is derived."""

from __future__ import annotations

from recallscope.problem import Problem
from recallscope.theory.end_answers import (
    MEASURED,
    explain_end,
    predict_end,
    recorded,
    refusal,
    untested,
)
from recallscope.theory.end_law import FOUND
from recallscope.theory.law import Law, LawKind
from recallscope.theory.recorded_error import RecordedError, error_near

_SIZES = ("vocab", "samples", "dim", "length")
_COLUMNS = {"recall_accuracy": ("predicted", "recall"), "lock_accuracy": ("found", "lock")}


def _applies(problem: Problem) -> str | None:
    if problem.learner not in FOUND:
        return f"no law of training for the learner {problem.learner}"
    return refusal(problem, task="recall", width=None)


def _recorded_error(problem: Problem, accuracy: str, expected: float) -> RecordedError | None:
    """At the trainings by the same learner whose sizes, and whose prediction, are nearest."""
    rows = recorded("trained.csv")
    predicted, measured = _COLUMNS[accuracy]
    return error_near(
        {name: float(getattr(problem, name)) for name in _SIZES},
        expected,
        rows,
        rows[predicted],
        rows[measured],
        rows["learner"] == problem.learner,
    )


PART = Law(
    applies=_applies,
    predict=predict_end,
    kind=LawKind.FITTED,
    priority=60,
    tested=MEASURED,
    untested=untested,
    recorded_error=_recorded_error,
    seconds=lambda problem: 0.5,
    about="predicted after training",
    origin="After training: the memory is derived, attention is a fitted law.",
    explain=explain_end,
)
