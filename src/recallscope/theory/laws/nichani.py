"""Nichani, Lee and Bietti, 0.15 facts for each parameter (arXiv 2412.06538).

Their setting: transformers of one layer, 800 to 100,000 parameters, all trained until nothing more
is learnt. Facts are pairs of subject and relation, answers differ by relation.
"""

from __future__ import annotations

from dataclasses import dataclass

from recallscope.theory.published import PublishedLaw, if_saturated
from recallscope.theory.question import Ends, Question

_FACTS = 0.15


@dataclass(frozen=True)
class Nichani(PublishedLaw):
    """0.15 facts for each trained parameter."""

    priority = 34
    largest = 1e5
    origin = "Nichani, Lee and Bietti, arXiv 2412.06538: small transformers from scratch."

    def bits(self, question: Question) -> Ends | str:
        """Facts count as many bits as an answer has."""
        return if_saturated(Ends(*(_FACTS * question.bits,) * 3), question)

    def in_words(self, question: Question) -> str:
        """The number."""
        return f"{_FACTS:g} facts per trained parameter"


PART = Nichani()
