"""Whether a training finds the trigger, and how often its attention is then at the marked token.

Where it begins is derived: after the first steps the score of the trigger is normal, and above
zero with a probability of Φ(snr). A training that begins on the wrong side may still turn round,
the more likely the more samples each fact has. That, and how often attention is right if it has
found the trigger, is fitted (the study end_of_training; docs/end-of-training.md).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.special import expit, ndtr  # type: ignore[import-untyped]

TURNS = {"gd": 0.75, "adam": 0.22, "muon": 0.65}
"""Fitted: how soon a training turns round that begins on the wrong side."""

_ATTENTION_ODDS = {
    "gd": (2.7, 0.55, 0.65, 1.6),
    "adam": (1.55, 0.6, 0.65, 0.7),
    "muon": (2.0, 0.7, 0.6, 1.25),
}
"""Fitted: a constant, and coefficients of the logarithms of the signal-to-noise ratio, of the
samples for each fact, and of the parameters over those that store every fact."""
_UNCLEAR = 0.1  # of the signal-to-noise ratio: below it, attention that is right is as right


class Attention(NamedTuple):
    """The probability that a training finds the trigger, and its attention accuracy if it does."""

    trigger_found: float
    accuracy: float


MARKED = Attention(1.0, 1.0)


def attention(learner: str, snr: float, per_fact: float, filled: float) -> Attention:
    """Of a training by its first steps, samples for each fact, and parameters over those needed.

    >>> [round(attention("gd", snr, 0.5, 1.0).trigger_found, 2) for snr in (0, 1, 4)]
    [0.66, 0.89, 1.0]
    """
    turned = TURNS[learner] * per_fact * math.sqrt(filled)
    sizes = (1.0, math.log(max(snr, 0.0) + _UNCLEAR), math.log(per_fact), math.log(filled))
    odds = sum(
        exponent * size for exponent, size in zip(_ATTENTION_ODDS[learner], sizes, strict=True)
    )
    return Attention(float(1 - ndtr(-snr) * math.exp(-turned)), float(expit(odds)))
