"""The common part of the laws of the end of training: their answers, and their errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from recallscope.problem.part import fields_of
from recallscope.problem.problem import Problem
from recallscope.theory.end_capacity import edge
from recallscope.theory.end_law import EDGE_WIDTH_FACTOR, end_of_training
from recallscope.theory.law import Answer, Factor, Given

_UNSOLVED = (
    "no law of training at these sizes: the equations of its memory were not solved; choose a dim "
    "further from the capacity threshold, or more even sizes"
)


def refusal(problem: Problem, free: Iterable[str] = (), **plain: object) -> str | None:
    """Why no law of training is about a problem: options that are not as they were measured.

    Those that are `free` may have any value.

    >>> refusal(Problem(vocab=512, samples=2048, dim=64, length=8, learner="adam", steps=10))
    'no law of training at steps 10'
    """
    plain |= {"regime": "limit", "model": "transformer", "embedding": "sphere"}
    plain["trigger_in_values"] = False
    for kind in ("learner", "task"):
        fields = fields_of(problem.part(kind))
        plain |= {name: field.default for name, field in fields.items()}
    # A field that no part of the problem declares has no other value.
    names = [
        name
        for name, value in plain.items()
        if name not in free and getattr(problem, name, value) != value
    ]
    if problem.activation not in (None, *_INDEPENDENT):
        names.append("activation")
    other = [f"{name} {getattr(problem, name)}" for name in names]
    return f"no law of training at {'; '.join(other)}" if other else None


_ALL = 0.99  # of memories that store every fact: from here on no equations are solved
_SURE = 0.95  # a probability above it needs no words
_SURELY = Factor(1.0, "given")
_INDEPENDENT = ("relu", "gelu", "tanh")  # hidden units are almost independent


def untested(problem: Problem) -> list[str]:
    """Return the further choices of a problem that no training had."""
    choices = []
    if problem.dim >= problem.vocab:
        choices.append(f"dim {problem.dim} >= vocab {problem.vocab}")
    if problem.activation not in (None, "relu"):
        choices.append(f"activation {problem.activation}")
    return choices


def predict_end(problems: Sequence[Problem], given: Given) -> list[Answer]:
    answers = []
    for place, problem in enumerate(problems):
        given.progress(place, len(problems))
        answers.append(_answer(problem))
    return answers


def seconds(problem: Problem) -> float:
    """About how long an answer takes: below capacity, equations are solved."""
    outputs = min(problem.dim, problem.vocab - 1)
    facts = min(problem.samples, problem.vocab)
    full = edge(problem.vocab, facts, outputs)
    widest = full._replace(spread=EDGE_WIDTH_FACTOR * full.spread)  # as it is in a training
    return 0.01 if widest.share_that_hold(problem.hidden * outputs) > _ALL else 0.6


def _answer(problem: Problem) -> Answer:
    end = end_of_training(problem)
    if math.isnan(end.memory):
        return Answer(reason=_UNSOLVED)
    quantities = {"parameters": end.parameters, "edge": end.edge.parameters}
    factors = {"attention_accuracy": _SURELY}
    if end.kept is not None:
        quantities |= {
            "recall_per_fact": end.kept.per_fact,
            "half_recall_frequency": end.kept.half_frequency,
            "facts_kept": end.kept.kept,
        }
    if end.trigger_snr is not None:
        quantities |= {"trigger_snr": end.trigger_snr, "recall_if_found": end.recall_if_found}
        factors = {
            "trigger_found": Factor(end.trigger_found, "its beginning derived, the rest fitted"),
            "attention_if_found": Factor(end.attention, "fitted"),
        }
    return Answer(
        accuracies={
            "recall_accuracy": end.recall,
            "attention_accuracy": end.trigger_found * end.attention,
        },
        factors=factors
        | {
            "facts_seen": Factor(end.facts_seen, "how often facts are drawn"),
            "memory_accuracy": Factor(end.memory, "derived; its threshold is right to a few %"),
        },
        quantities=quantities,
    )


def explain_end(problem: Problem, answer: Answer) -> str:
    numbers = answer.quantities
    full = "more" if numbers["parameters"] > numbers["edge"] else "fewer"
    sentences = [
        "At the end of training recall is the product of the factors. The memory has "
        f"{numbers['parameters']} parameters, {full} than the {numbers['edge']:.0f} that store "
        "every fact that attention finds."
    ]
    if "facts_kept" in numbers:
        sentences.append(
            f"{numbers['facts_kept']:,.0f} facts are recalled more often than not: those with a "
            f"frequency of at least {numbers['half_recall_frequency']:.3g}. Counted once each, "
            f"{numbers['recall_per_fact']:.3f} of all facts are recalled."
        )
    if (probability := answer.factors.get("trigger_found", _SURELY).value) < _SURE:
        sentences.append(
            f"A training finds the trigger with a probability of about {probability:.2f}, and then "
            f"recalls {numbers['recall_if_found']:.3f}; else it recalls next to nothing. Train "
            "with several seeds."
        )
    return " ".join(sentences)


SHARED: dict[str, Any] = {"predict": predict_end, "seconds": seconds, "explain": explain_end}
"""Arguments that the laws of the end share."""
