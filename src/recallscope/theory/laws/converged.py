"""The minimum of the loss: attention is given, the memory is derived."""

from __future__ import annotations

import math

from recallscope.parts.naming import find_part
from recallscope.problem import Problem
from recallscope.theory.end_answers import (
    MEASURED,
    explain_end,
    predict_end,
    recorded_error_of_end,
    refusal,
    training_comparisons,
)
from recallscope.theory.law import Law, LawKind, Ranges
from recallscope.theory.table_facts import trained_facts

MEMORY: Ranges = {"vocab": (64, 4096), "dim": (5, 512), "width per dim": (0.8, 9)}
"""Where the minimum was measured, of facts that are all seen."""


def _applies(problem: Problem) -> str | None:
    if not find_part("learner", problem.learner).minimum:
        return f"no law of the minimum for the learner {problem.learner}"
    in_turn = find_part("task", problem.task).in_turn
    if in_turn and problem.samples >= problem.vocab:
        return refusal(problem, MEMORY)
    some = {"vocab": MEASURED["vocab"], "samples per fact": (0.25, math.inf)}
    return refusal(problem, {**MEMORY, **some}, **({} if in_turn else {"task": "recall"}))


PART = Law(
    applies=_applies,
    predict=predict_end,
    kind=LawKind.DERIVED,
    priority=60,
    tested=MEMORY,
    recorded_error=recorded_error_of_end,
    comparisons=lambda: training_comparisons(("converged",)),
    facts={"trained": trained_facts},
    seconds=lambda problem: 0.5,
    about="predicted after training",
    origin="After training: the memory is derived, attention is given.",
    explain=explain_end,
)
