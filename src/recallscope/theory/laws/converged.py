"""The minimum of the loss: attention is given, the memory is derived."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from recallscope.problem.frequencies import FREQUENCIES, MOST_UNEQUAL, frequencies_of, zipf
from recallscope.problem.problem import Problem
from recallscope.theory import end_answers
from recallscope.theory.end_capacity import edge
from recallscope.theory.end_law import end_of_training
from recallscope.theory.exposures import FACTOR, FARTHEST, NEAREST, steps_to
from recallscope.theory.law import Answer, Given, Law, LawKind, Ranges
from recallscope.theory.low_rank import low_rank_facts
from recallscope.theory.memory_recall import equally_often, memory_recall
from recallscope.theory.output_cone import cone
from recallscope.theory.question import PRECISIONS, Capacity, Ends, Limit, Question
from recallscope.theory.recorded_error import RecordedError, error_near, recorded
from recallscope.theory.tested_range import beyond, beyond_by, outside
from recallscope.theory.unequal_facts import kept_facts

_TESTED: Ranges = {"vocab": (64, 16384), "dim": (5, 214), "width per dim": (0.5, 16)}
_WIDENS = 0.25
_UNEQUAL: Ranges = {"vocab": (64, 512), "dim": (4, 45), "zipf_exponent": (0, 2)}
"""Tested with facts of unequal frequency, without an MLP (the study frequencies)."""
_EDGE_OF_RANK = 0.2
"""Measured: most memories of low rank are within it (docs/low-rank.md)."""
_EDGE = 0.03
"""Measured: thresholds of 90 % of memories are within it (docs/end-of-training.md)."""


def _wide(width: int | None) -> list[str]:
    return [] if width is None else [f"width {width} with facts of unequal frequency"]


def _error_of_memory(
    vocab: float, facts: float, dim: float, width: int | None, expected: float, unequal: bool
) -> RecordedError | None:
    """At memories of the same kind, of nearest sizes and prediction."""
    rows = recorded("unequal_facts.csv" if unequal else "memories.csv")
    kind = "linear" if width is None or unequal else "relu"  # the only one with unequal facts
    return error_near(
        {"vocab": vocab, "facts": facts, "dim": dim, "width": width or dim},
        expected,
        rows,
        rows["predicted"],
        rows["recall"],
        rows["kind"] == kind,
    )


def _exposures(question: Question, filled: float) -> Ends | None:
    """How often each fact is to be seen, where a training was like it."""
    other = question.zipf_exponent, question.width, question.rank
    if any(other) or question.answers != question.facts or filled < NEAREST:
        return None
    steps = steps_to(0.9, "adam", question.facts, min(filled, FARTHEST))
    return Ends(steps, steps / FACTOR, steps * FACTOR)


@dataclass(frozen=True)
class AtMinimum(Law):
    """The minimum of the loss, with attention given."""

    kind = LawKind.DERIVED
    priority = 60
    about = "predicted after training"
    origin = "After training: the memory is derived, attention is given."
    tested: ClassVar[Ranges] = _TESTED
    widens = _WIDENS

    def applies(self, problem: Problem) -> str | None:
        """Why the law says nothing of a problem; None if it does."""
        if not problem.part("learner").minimum:
            return f"no law of the minimum for the learner {problem.learner}"
        in_turn = problem.part("task").in_turn
        return end_answers.refusal(problem, FREQUENCIES, **({} if in_turn else {"task": "recall"}))

    def untested(self, problem: Problem) -> list[str]:
        """What else of a problem it was not compared at."""
        choices = end_answers.untested(problem)
        if frequencies_of(problem, problem.vocab) is None:
            return choices
        return [*choices, *outside(problem, _UNEQUAL), *_wide(problem.width)]

    def recorded_error(
        self, problem: Problem, accuracy: str, expected: float
    ) -> RecordedError | None:
        """How far off it was near a problem."""
        if accuracy != "recall_accuracy":
            return None  # attention is given
        end = end_of_training(problem)
        seen = problem.vocab * end.facts_seen
        unequal = end.kept is not None
        return _error_of_memory(problem.vocab, seen, problem.dim, problem.width, expected, unequal)

    def capacity(self, question: Question) -> Capacity | str:
        """One memory over frozen embeddings; it may have more facts than answers, or fewer."""
        if question.method != "memory" or question.context > 1:
            return "it is about one memory over frozen embeddings, and facts without a context"
        if question.precision not in PRECISIONS:
            return "it is about weights that are not quantised"
        if question.zipf_exponent and question.facts > MOST_UNEQUAL:
            return f"it is about at most {MOST_UNEQUAL:,} facts of unequal frequency"
        facts, answers, dim = question.facts, question.answers, question.dim
        outputs, inputs = min(dim, answers - 1), min(question.width or dim, facts)
        parameters, error_of_edge = inputs * outputs, _EDGE
        if question.rank is not None and question.rank < min(inputs, outputs):
            held = low_rank_facts(question.width or dim, dim, question.rank, answers)
            parameters, error_of_edge = round(held * cone(answers, outputs)), _EDGE_OF_RANK
        sizes = {"vocab": answers, "dim": dim, "width per dim": (question.width or dim) / dim}
        unequal, tested = question.zipf_exponent > 0, dict(_TESTED)
        if unequal:
            probability = zipf(facts, question.zipf_exponent)
            sizes["zipf_exponent"] = question.zipf_exponent
            tested |= _UNEQUAL
        far = [
            unlike for name, size in sizes.items() if (unlike := beyond(name, size, tested[name]))
        ]
        far += _wide(question.width) if unequal else []
        wider = 1 + _WIDENS * max(beyond_by(size, tested[name]) for name, size in sizes.items())
        # The threshold may be a little off, and recall changes much around it.
        moved = 1 + wider * error_of_edge
        full = edge(answers, facts, outputs)

        def recall_and_facts(factor: float) -> tuple[float, float]:
            """Recall and the facts that are stored, with so many times the parameters."""
            if not unequal:
                every = equally_often(facts)
                recall = memory_recall(answers, parameters * factor, every, outputs)
                return recall, facts * parameters * factor / full.parameters
            hidden = parameters / outputs * factor
            kept = kept_facts(probability, math.inf, answers, hidden, outputs)
            return (math.nan, math.nan) if kept is None else (kept.recall, float(kept.kept))

        (recall, fewer, more), stored = zip(
            *map(recall_and_facts, (1.0, 1 / moved, moved)), strict=True
        )
        if math.isnan(recall + fewer + more):
            return "the equations of its memory were not solved at these sizes"
        error = _error_of_memory(answers, facts, dim, question.width, recall, unequal)
        most = 1.0 if error is None else error.wider(wider).most
        return Capacity(
            recall=Ends(
                recall, max(min(recall - most, fewer), 0.0), min(max(recall + most, more), 1.0)
            ),
            facts=Ends(*stored),
            limit=Limit.CAPACITY if parameters < full.parameters else Limit.NONE,
            extrapolated=far,
            said=f"{parameters:,} dimensions that count; {full.parameters:,.0f} store all facts",
            exposures=_exposures(question, parameters / full.parameters),
        )

    def predict(self, problems: Sequence[Problem], given: Given) -> list[Answer]:
        """An answer for each of the problems."""
        return end_answers.predict_end(problems, given)

    def seconds(self, problem: Problem) -> float:
        """About how long a prediction takes."""
        return end_answers.seconds(problem)

    def explain(self, problem: Problem, answer: Answer) -> str:
        """A sentence or more on an answer."""
        return end_answers.explain_end(problem, answer)


PART = AtMinimum()
