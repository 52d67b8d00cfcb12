"""Allen-Zhu and Li, 2 bits for each parameter at 1,000 exposures and 1 at 100 (arXiv 2404.05405).

Their setting: GPT-2 with rotary positions, all parameters trained from scratch, invented
biographies, each seen so often. Between the two, bits are interpolated by an exponent of exposures;
below, it goes on as the value, and bits in proportion to exposures are the low end.
"""

from __future__ import annotations

import math

from recallscope.theory.published import SATURATED, published_law
from recallscope.theory.question import Ends, Question

_FEW, _BITS = 100.0, 2.0


def _bits(question: Question) -> Ends:
    seen = min(question.exposures, SATURATED)
    by_power = _BITS * (seen / SATURATED) ** math.log10(2)
    least = by_power * min(seen / _FEW, 1.0) ** (1 - math.log10(2))
    return Ends(by_power, least, by_power)


def _said(question: Question) -> str:
    few = " (extrapolated: none is published below 100)" if question.exposures < _FEW else ""
    return (
        f"{_bits(question).value:.2g} bits per trained parameter at {question.exposures:,.0f} "
        f"exposures{few}"
    )


PART = published_law(
    _bits,
    priority=36,
    largest=math.inf,  # what is publicly said of it names no number
    origin="Allen-Zhu and Li, arXiv 2404.05405: GPT-2 from scratch on invented biographies.",
    said=_said,
)
