"""LoRA in a network: what the adapted matrices could store, and how much of it was reached."""

from __future__ import annotations

from collections.abc import Iterable

from recallscope.theory.law import LawKind
from recallscope.theory.low_rank import low_rank_dimensions
from recallscope.theory.output_cone import cone
from recallscope.theory.published import law_of_models, refusal, unequal
from recallscope.theory.question import Capacity, Ends, Limit, Question

REACHED = Ends(0.4, 0.008, 1.0)
"""Fractions measured in two networks (studies/lora.py): usual, of badly conditioned keys, and of
whitened ones."""
_EXPOSURES = 400
_LARGEST = 576  # dimension of the largest model with a LoRA here


def facts_of_adapters(adapted: Iterable[tuple[int, int, int]], rank: int, answers: int) -> float:
    """How many facts the adapted matrices could store, each by the law of rank.

    In a network labels need not be named by one matrix alone.

    >>> round(facts_of_adapters([(64, 256, 2), (256, 64, 2)], 4, 128))
    1316
    """
    found = 0.0
    for inputs, outputs, count in adapted:
        seen = min(outputs, answers - 1)
        found += count * low_rank_dimensions(inputs, seen, rank) / cone(answers, seen)
    return found


def _capacity(question: Question) -> Capacity | str:
    if (reason := refusal(question)) is not None:
        return reason
    if question.method != "lora" or question.rank is None:
        return f"it is about LoRA, not about {question.method}"
    held = facts_of_adapters(question.adapted, question.rank, question.answers)
    # With fewer exposures than any training here had, facts are taken to be in proportion to them.
    shown = min(question.exposures / _EXPOSURES, 1.0)
    usual, least, most = (fraction * held for fraction in REACHED)
    facts = Ends(shown * usual, least if shown == 1 else 0.0, most)
    far = [f"dim {question.dim} > {_LARGEST}"] if question.dim > _LARGEST else []
    far.append("networks with a LoRA: two were trained here, at ranks of 1 to 16")
    if shown < 1:
        far.append(f"exposures {question.exposures:g} < {_EXPOSURES}")
    limit = Limit.EXPOSURES if usual >= question.facts else Limit.CAPACITY
    return Capacity(
        recall=Ends(*map(question.recalled, facts)),
        facts=facts,
        limit=Limit.NONE if facts.value >= question.facts else limit,
        extrapolated=[*far, *unequal(question)],
        said=f"{held:,.0f} facts that its matrices could store; LoRAs here reached "
        f"{REACHED.low:g} to {REACHED.high:g} of it",
        calibrated=False,
    )


PART = law_of_models(
    _capacity,
    LawKind.FITTED,
    priority=31,
    origin="A derived capacity, times what was reached in two networks.",
    about="by the law of rank",
)
