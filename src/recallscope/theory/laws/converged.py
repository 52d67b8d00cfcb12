"""The minimum of the loss: attention is given, the memory is derived."""

from __future__ import annotations

import math

from recallscope.parts.naming import find_part
from recallscope.problem import Problem
from recallscope.tasks.frequencies import FREQUENCIES
from recallscope.theory import end_answers
from recallscope.theory.law import Law, LawKind, Ranges
from recallscope.theory.memory_edge import edge
from recallscope.theory.memory_recall import equally_often, memory_recall
from recallscope.theory.question import PRECISIONS, Capacity, Ends, Limit, Question
from recallscope.theory.recorded_error import RecordedError, error_near, recorded
from recallscope.theory.table_facts import trained_facts
from recallscope.theory.tested_range import beyond, beyond_by

_TESTED: Ranges = {"vocab": (64, 16384), "dim": (5, 214), "width per dim": (0.5, 16)}
_WIDENS = 0.25
_EDGE = 0.03
"""Measured: thresholds of 90 % of memories are within it (docs/end-of-training.md)."""


def _applies(problem: Problem) -> str | None:
    if not find_part("learner", problem.learner).minimum:
        return f"no law of the minimum for the learner {problem.learner}"
    in_turn = find_part("task", problem.task).in_turn
    return end_answers.refusal(problem, FREQUENCIES, **({} if in_turn else {"task": "recall"}))


def _recorded_error(problem: Problem, accuracy: str, expected: float) -> RecordedError | None:
    if accuracy != "recall_accuracy":
        return None  # attention is given
    seen = problem.vocab * end_answers.end_of(problem).facts_seen
    return _error_of_memory(problem.vocab, seen, problem.dim, problem.width, expected)


def _error_of_memory(
    vocab: float, facts: float, dim: float, width: int | None, expected: float
) -> RecordedError | None:
    """At memories of the same kind, with or without an MLP, of nearest sizes and prediction."""
    rows = recorded("memories.csv")
    return error_near(
        {"vocab": vocab, "facts": facts, "dim": dim, "width": width or dim},
        expected,
        rows,
        rows["predicted"],
        rows["recall"],
        (rows["kind"] == "relu") == (width is not None),
    )


def _capacity(question: Question) -> Capacity | str:
    """One memory over frozen embeddings; it may have more facts than answers, or fewer."""
    if question.method != "memory" or question.context > 1:
        return "it is about one memory over frozen embeddings, and facts without a context"
    if question.rank is not None:
        return "it is about whole matrices, not about updates of low rank"
    if question.frequencies != "uniform" or question.precision not in PRECISIONS:
        return "it is about facts seen equally often, and weights that are not quantised"
    facts, answers, dim = question.facts, question.answers, question.dim
    outputs = min(dim, answers - 1)
    parameters = min(question.width or dim, facts) * outputs
    sizes = {"vocab": answers, "dim": dim, "width per dim": (question.width or dim) / dim}
    far = [each for name, size in sizes.items() if (each := beyond(name, size, _TESTED[name]))]
    wider = 1 + _WIDENS * max(beyond_by(size, _TESTED[name]) for name, size in sizes.items())
    # The threshold may be a little off, and recall changes much around it.
    moved = 1 + wider * _EDGE
    recall, fewer, more = (
        memory_recall(answers, parameters * factor, equally_often(facts), outputs)
        for factor in (1.0, 1 / moved, moved)
    )
    if math.isnan(recall + fewer + more):
        return "the equations of its memory were not solved at these sizes"
    error = _error_of_memory(answers, facts, dim, question.width, recall)
    most = 1.0 if error is None else error.wider(wider).most
    full = edge(answers, facts, outputs)
    held = facts * parameters / full.parameters
    return Capacity(
        recall=Ends(
            recall, max(min(recall - most, fewer), 0.0), min(max(recall + most, more), 1.0)
        ),
        facts=Ends(held, held / moved, held * moved),
        limit=Limit.CAPACITY if parameters < full.parameters else Limit.NONE,
        extrapolated=far,
        said=f"{parameters:,} parameters that count; {full.parameters:,.0f} store all facts",
    )


PART = Law(
    applies=_applies,
    **end_answers.SHARED,
    kind=LawKind.DERIVED,
    priority=60,
    tested=_TESTED,
    untested=end_answers.untested,
    recorded_error=_recorded_error,
    widens=_WIDENS,
    capacity=_capacity,
    facts={"trained": trained_facts},
    origin="After training: the memory is derived, attention is given.",
)
