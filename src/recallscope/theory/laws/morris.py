"""Morris and others, 3.64 bits for each parameter, 2.86 to 4.23 (arXiv 2505.24832).

Their setting: GPT-2 of one to eight layers, random strings, all parameters trained from scratch
until nothing more is learnt. They count bits of the strings, not facts that are answered.
"""

from __future__ import annotations

from recallscope.theory.published import if_saturated, published_law
from recallscope.theory.question import Ends, Question

_BITS = Ends(3.64, 2.86, 4.23)


def _bits(question: Question) -> Ends | str:
    return if_saturated(_BITS, question)


PART = published_law(
    _bits,
    priority=32,
    largest=1.5e9,
    origin="Morris and others, arXiv 2505.24832: GPT-2 from scratch on random strings.",
    said=lambda question: f"{_BITS.value:g} bits per trained parameter, of random strings",
)
