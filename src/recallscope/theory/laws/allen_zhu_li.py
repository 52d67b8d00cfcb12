"""Allen-Zhu and Li, 2 bits for each parameter at 1,000 exposures and 1 at 100 (arXiv 2404.05405).

Their setting: GPT-2 with rotary positions, all parameters trained from scratch, invented
biographies, each seen so often. Between the two, bits are interpolated by an exponent of exposures.
Below 100 nothing is published. The value is bits in proportion to exposures, the high end
extrapolates the exponent, and the low end is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from recallscope.theory.published import SATURATED, PublishedLaw
from recallscope.theory.question import Ends, Question

_FEW, _BITS = 100.0, 2.0


@dataclass(frozen=True)
class AllenZhuLi(PublishedLaw):
    """Bits for each trained parameter, by exposures; public sources give no largest model."""

    priority = 36
    origin = "Allen-Zhu and Li, arXiv 2404.05405: GPT-2 from scratch on invented biographies."

    def bits(self, question: Question) -> Ends:
        """Interpolated between 100 and 1,000 exposures."""
        seen = min(question.exposures, SATURATED)
        interpolated = _BITS * (seen / SATURATED) ** math.log10(2)
        if seen < _FEW:
            return Ends(seen / _FEW, 0.0, interpolated)
        return Ends(interpolated, interpolated, interpolated)

    def in_words(self, question: Question) -> str:
        """The bits, and where they are a guess."""
        few = ", a guess: nothing is published below 100" if question.exposures < _FEW else ""
        return (
            f"bits per trained parameter: {self.bits(question).value:.2g} at "
            f"{question.exposures:,.0f} exposures{few}"
        )


PART = AllenZhuLi()
