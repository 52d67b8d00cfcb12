"""Morris and others, 3.64 bits for each parameter, 2.86 to 4.23 (arXiv 2505.24832).

Their setting: GPT-2 of one to eight layers, random strings, all parameters trained from scratch
until nothing more is learnt. They count bits of the strings, not facts that are answered.
"""

from __future__ import annotations

from dataclasses import dataclass

from recallscope.theory.published import PublishedLaw, if_saturated
from recallscope.theory.question import Ends, Question

_BITS = Ends(3.64, 2.86, 4.23)


@dataclass(frozen=True)
class Morris(PublishedLaw):
    """3.64 bits for each trained parameter."""

    priority = 32
    largest = 1.5e9
    origin = "Morris and others, arXiv 2505.24832: GPT-2 from scratch on random strings."

    def bits(self, question: Question) -> Ends | str:
        """The same for all facts."""
        return if_saturated(_BITS, question)

    def in_words(self, question: Question) -> str:
        """The number."""
        return f"{_BITS.value:g} bits per trained parameter, of random strings"


PART = Morris()
