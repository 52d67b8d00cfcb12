"""Capacities that others measured, as laws: facts for each trained parameter.

Their recall is the fraction of the facts that fit. Nothing here was compared with them: an interval
is the span of all published values that apply to a question, wider by a factor of 2 either way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from recallscope.theory.law import Answer, Given, Law, LawKind
from recallscope.theory.question import PRECISIONS, Capacity, Ends, Limit, Question

SATURATED = 1000.0  # exposures, from which on more are said to add nothing
_WIDER = 2.0
_SAID_IN_PLAN = "no law for experiments: it is about models by their trained parameters, as in plan"
_FROM_SCRATCH = "pretrain"


def refusal(question: Question) -> str | None:
    """Why published values say nothing of a question."""
    if question.method == "memory":
        return "it is about whole models, not about one memory over frozen embeddings"
    if question.method == "edit":
        return "it is about training, not about edits in closed form"
    if question.frequencies != "uniform":
        return f"it is about facts that are seen equally often, not {question.frequencies}"
    if question.precision not in PRECISIONS:
        return f"it is about weights that are not quantised, not {question.precision}"
    return None


def published_law(
    bits: Callable[[Question], Ends | str],
    *,
    priority: int,
    largest: float,
    origin: str,
    said: Callable[[Question], str],
) -> Law:
    """A law from the bits of facts that a trained parameter holds, and where that is from."""

    def capacity(question: Question) -> Capacity | str:
        reason = refusal(question)
        found = bits(question) if reason is None else reason
        if isinstance(found, str):
            return found
        facts = Ends(*(each * question.trained / question.bits for each in found))
        unlike = []
        if question.method != _FROM_SCRATCH:
            unlike.append(f"{question.method}: published for training all parameters from scratch")
        if question.trained > largest:
            unlike.append(f"{question.trained:,} trained parameters > {largest:,.0f}")
        return Capacity(
            recall=_recalled(facts, question),
            facts=facts,
            limit=_limit(facts.value, question),
            largest=largest,
            extrapolated=unlike,
            said=said(question),
        )

    return Law(
        applies=lambda problem: _SAID_IN_PLAN,
        predict=_no_problems,
        kind=LawKind.PUBLISHED,
        priority=priority,
        origin=origin,
        about="published",
        capacity=capacity,
    )


def spanned(found: Sequence[Capacity], question: Question) -> Capacity:
    """The first of the published answers, with the span of all as its interval."""
    low = min(each.facts.low for each in found) / _WIDER
    high = max(each.facts.high for each in found) * _WIDER
    facts = found[0].facts._replace(low=low, high=high)
    recall = _recalled(facts, question)
    return Capacity(**{**vars(found[0]), "facts": facts, "recall": recall})


def _recalled(facts: Ends, question: Question) -> Ends:
    return Ends(*(min(each / question.facts, 1.0) for each in facts))


def _limit(held: float, question: Question) -> Limit:
    if held >= question.facts:
        return Limit.NONE
    # Twice the bits at ten times the exposures, up to where more add nothing.
    to_gain = max(SATURATED / question.exposures, 1.0) ** math.log10(2)
    return Limit.EXPOSURES if held * to_gain >= question.facts else Limit.CAPACITY


def _no_problems(problems: Sequence[object], given: Given) -> list[Answer]:
    return [Answer(reason=_SAID_IN_PLAN) for _ in problems]


def if_saturated(bits: Ends, question: Question) -> Ends | str:
    """Bits for training until nothing more is learnt; a reason where it ends before."""
    if question.exposures < SATURATED:
        return f"it is about {SATURATED:,.0f} exposures or more, until nothing more is learnt"
    return bits
