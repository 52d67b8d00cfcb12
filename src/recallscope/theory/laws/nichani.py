"""Nichani, Lee and Bietti, 0.15 facts for each parameter (arXiv 2412.06538).

Their setting: transformers of one layer, 800 to 100,000 parameters, all trained until nothing more
is learnt. Facts are pairs of subject and relation, answers differ by relation.
"""

from __future__ import annotations

from recallscope.theory.published import if_saturated, published_law
from recallscope.theory.question import Ends, Question

_FACTS = 0.15


def _bits(question: Question) -> Ends | str:
    return if_saturated(Ends(*(_FACTS * question.bits,) * 3), question)


PART = published_law(
    _bits,
    priority=34,
    largest=1e5,
    origin="Nichani, Lee and Bietti, arXiv 2412.06538: small transformers from scratch.",
    said=lambda question: f"{_FACTS:g} facts per trained parameter",
)
