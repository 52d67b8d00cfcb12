"""Numbers and questions in words, as all sentences about plans have them."""

from __future__ import annotations

import math
from typing import NamedTuple

from recallscope.planning.inputs import Inputs
from recallscope.theory.question import Ends

METHODS = {
    "pretrain": "training from scratch",
    "full": "full fine-tuning",
    "lora": "LoRA",
    "memory": "one memory over frozen embeddings",
}
_WIDE = 0.5
_MANY, _MILLION = 1000, 10**6


class PlanTable(NamedTuple):
    """A table of a plan, as texts."""

    title: str
    head: list[str]
    rows: list[list[str]]


class PlanWords(NamedTuple):
    """All that is said of a plan, in the order in which it is said.

    Attributes:
        first: how far the answer can be trusted.
        headline: the answer.
        details: what it comes from.
        advice: what to change.
        tables: the numbers.
        sources: where they are from.
        verified: a scaled-down model that was trained.
    """

    first: str
    headline: str
    details: list[str]
    advice: str | None
    tables: list[PlanTable]
    sources: list[str]
    verified: list[str]


def says_nothing(recall: Ends) -> bool:
    """Whether an interval is so wide that it is no answer: wider than one half.

    >>> says_nothing(Ends(0.59, 0.04, 1.0)), says_nothing(Ends(0.59, 0.4, 0.8))
    (True, False)
    """
    return recall.high - recall.low > _WIDE


def interval(ends: Ends) -> str:
    """A recall with its interval, or that it is unknown.

    >>> interval(Ends(0.5, 0.25, 0.7)), interval(Ends(0.5, 0.25, 1.0))
    ('0.50 (0.25 to 0.70)', 'unknown')
    """
    return "unknown" if says_nothing(ends) else measured(ends)


def measured(ends: Ends) -> str:
    """A recall with its interval, however wide."""
    return f"{ends.value:.2f} ({ends.low:.2f} to {ends.high:.2f})"


def question_in_words(inputs: Inputs) -> str:
    """Return the question: facts, method, exposures."""
    by, seen = METHODS[inputs.method], inputs.exposures or 0
    if inputs.method == "lora":
        by += f" of rank {inputs.rank} on {', '.join(inputs.modules)}"
    times = f"{seen:,.0f}" if seen >= 10 else f"{seen:.2g}"
    often = "once" if seen == 1 else f"{times} times"
    how = "trained to the end" if inputs.to_the_end else f"each seen {often}"
    return f"{inputs.facts:,} facts by {by}, {how}"


def counted(ends: Ends) -> str:
    """A count with its interval, to two digits; an infinite one is never reached.

    >>> counted(Ends(8.06, 3.72, 1234.0)), counted(Ends(2.5e7, 1e3, math.inf))
    ('8.1 (3.7 to 1,200)', '25 million (1,000 to never)')
    """
    value, low, high = map(_to_two_digits, ends)
    return f"{value} ({low} to {high})"


def _to_two_digits(size: float) -> str:
    if not math.isfinite(size):
        return "never"
    if size >= _MILLION:
        return f"{float(f'{size / _MILLION:.2g}'):,g} million"
    return f"{float(f'{size:.2g}'):,g}" if size < _MANY else short(size)


def short(size: float) -> str:
    """Large ones to two digits, as no estimate is better."""
    return f"{size if size < _MANY else float(f'{size:.2g}'):,.0f}"


def factor(times: float) -> str:
    """How many times more, to two digits."""
    return f"{float(f'{times:.2g}'):,g}" if times < 10 else f"{float(f'{times:.2g}'):,.0f}"
