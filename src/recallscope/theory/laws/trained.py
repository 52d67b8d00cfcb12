"""The end of training by gradients: attention is a fitted law, the memory is derived."""

from __future__ import annotations

import math

import numpy as np

from recallscope.problem import Problem
from recallscope.theory import end_answers
from recallscope.theory.end_law import FOUND
from recallscope.theory.law import Law, LawKind
from recallscope.theory.recorded_error import ComparedProblem, RecordedError, error_near, recorded

_SIZES = ("vocab", "samples", "dim", "length")
_LEAST_SNR, _ON_THE_EDGE = 1e-3, 0.02
_COLUMNS = {"recall_accuracy": ("predicted", "recall"), "lock_accuracy": ("found", "lock")}


def _applies(problem: Problem) -> str | None:
    if problem.learner not in FOUND:
        return f"no law of training for the learner {problem.learner}"
    return end_answers.refusal(problem, task="recall")


def _untested(problem: Problem) -> list[str]:
    wide = [] if problem.width is None else [f"width {problem.width}"]
    return [*end_answers.untested(problem), *wide]


def _recorded_error(problem: Problem, accuracy: str, expected: float) -> RecordedError | None:
    """At trainings by the same learner that found the trigger as clearly, as far from capacity."""
    rows = recorded("trained.csv")
    end = end_answers.end_of(problem)
    here = {
        "trigger_snr": max(end.trigger_snr or math.inf, _LEAST_SNR),
        "away": max(abs(end.parameters / end.edge.parameters - 1), _ON_THE_EDGE),
    }
    predicted, measured = _COLUMNS[accuracy]
    return error_near(
        here,
        expected,
        {
            "trigger_snr": np.maximum(rows["trigger_snr"], _LEAST_SNR),
            "away": np.maximum(np.abs(rows["share_of_edge"] - 1), _ON_THE_EDGE),
        },
        rows[predicted],
        rows[measured],
        rows["learner"] == problem.learner,
    )


def _comparisons() -> list[ComparedProblem]:
    rows = recorded("trained.csv")
    found = []
    for place, learner in enumerate(rows["learner"]):
        sizes = {name: int(rows[name][place]) for name in _SIZES}
        both = (
            {name: float(rows[columns[which]][place]) for name, columns in _COLUMNS.items()}
            for which in (0, 1)
        )
        found.append(ComparedProblem(Problem.from_dict({**sizes, "learner": str(learner)}), *both))
    return found


PART = Law(
    applies=_applies,
    **end_answers.SHARED,
    kind=LawKind.FITTED,
    priority=60,
    tested=end_answers.MEASURED,
    untested=_untested,
    recorded_error=_recorded_error,
    widens=0.25,
    comparisons=_comparisons,
    origin="After training: the memory is derived, attention is a fitted law.",
)
