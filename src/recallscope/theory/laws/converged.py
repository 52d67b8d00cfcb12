"""The minimum of the loss: attention is given, the memory is derived."""

from __future__ import annotations

from recallscope.parts.naming import find_part
from recallscope.problem import Problem
from recallscope.theory.end_answers import (
    end_of,
    explain_end,
    predict_end,
    refusal,
    seconds,
    untested,
)
from recallscope.theory.law import Law, LawKind
from recallscope.theory.recorded_error import RecordedError, error_near, recorded
from recallscope.theory.table_facts import trained_facts


def _applies(problem: Problem) -> str | None:
    if not find_part("learner", problem.learner).minimum:
        return f"no law of the minimum for the learner {problem.learner}"
    in_turn = find_part("task", problem.task).in_turn
    return refusal(problem, **({} if in_turn else {"task": "recall"}))


def _recorded_error(problem: Problem, accuracy: str, expected: float) -> RecordedError | None:
    """At memories of the same kind, with or without an MLP, of nearest sizes and prediction."""
    if accuracy != "recall_accuracy":
        return None  # attention is given
    rows = recorded("memories.csv")
    seen = problem.vocab * end_of(problem).facts_seen
    return error_near(
        {"vocab": problem.vocab, "facts": seen, "dim": problem.dim, "width": problem.hidden},
        expected,
        rows,
        rows["predicted"],
        rows["recall"],
        (rows["kind"] == "relu") == (problem.width is not None),
    )


PART = Law(
    applies=_applies,
    predict=predict_end,
    kind=LawKind.DERIVED,
    priority=60,
    tested={"vocab": (64, 4096), "dim": (5, 214), "width per dim": (0.5, 16)},
    untested=untested,
    recorded_error=_recorded_error,
    widens=0.25,
    facts={"trained": trained_facts},
    seconds=seconds,
    about="predicted after training",
    origin="After training: the memory is derived, attention is given.",
    explain=explain_end,
)
