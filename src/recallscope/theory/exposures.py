"""How many steps a memory is trained until it recalls a fraction of its facts.

Measured and interpolated (the study exposures; docs/end-of-training.md): at learning rates as they
are by default, with attention given and every fact as often as the others. It depends on how many
parameters there are over those of the capacity threshold, `filled`, and little on the vocabulary.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit, logit  # type: ignore[import-untyped]

from recallscope.theory.recorded_error import recorded

TARGETS = (0.5, 0.9, 0.99)
LEARNERS = ("gd", "sgd", "adam", "muon")
FACTOR = 1.75
"""Measured: 90 % of trainings take between this many times fewer and more steps."""
NEAREST, FARTHEST = 1.05, 8.0
"""Times the parameters of the capacity threshold, between which steps were measured."""

_OF_BATCHES = {
    "sgd": ((0.257, 1.3, 1.46), 1.56, 1.2, (0.15, 0.98, 2.16)),
    "adam": ((1.28, 12.9, 25.3), 0.67, 1.4, (0.65, 0.21, 0.0)),
    "muon": ((0.002, 0.041, 0.144), 1.82, 1.96, (0.61, 1.19, 1.93)),
}
"""Fitted: the steps that batches add near capacity, for each target, with the exponents of batches
in a pass less one and of how far `filled` is above one; and those that each batch adds anywhere."""
_WHOLE = {"sgd": "gd"}  # what they are called if a batch has all facts
_AT = 256  # facts of the table


def steps_to(
    target: float, learner: str, vocab: float, filled: float, batches: float = 1.0
) -> float:
    """Steps until recall is 0.5, 0.9 or 0.99, with so many batches in a pass over all facts.

    >>> [round(steps_to(0.9, "adam", 256, filled)) for filled in (1.2, 2, 4)]
    [126, 23, 5]
    """
    rows = recorded("exposures.csv")
    mine = (rows["learner"] == _WHOLE.get(learner, learner)) & (rows["target"] == target)
    away = math.log(filled - 1)
    steps = np.interp(away, np.log(rows["filled"][mine] - 1), np.log(rows["steps"][mine]))
    steps_needed = math.exp(float(steps) + rows["power"][mine][0] * math.log(vocab / _AT))
    if batches > 1:
        near, of_batches, of_distance, anywhere = _OF_BATCHES[learner]
        place, more = TARGETS.index(target), batches - 1
        steps_needed += near[place] * more**of_batches / (filled - 1) ** of_distance
        steps_needed += anywhere[place] * more
    return max(steps_needed, 1.0)


def recall_after(
    steps: float, learner: str, vocab: float, filled: float, batches: float = 1.0
) -> float:
    """The fraction of facts that are recalled after some steps, between and beyond the targets.

    >>> [round(recall_after(steps, "adam", 256, 2.0), 2) for steps in (3, 23, 300)]
    [0.22, 0.9, 1.0]
    """
    if steps <= 0:
        return 1 / vocab
    at = np.log([steps_to(target, learner, vocab, filled, batches) for target in TARGETS])
    # Targets that the first step reaches count in their order.
    at = np.maximum.accumulate(at + 1e-3 * np.arange(len(TARGETS)))
    odds, here = logit(np.array(TARGETS)), math.log(steps)
    place = 0 if here < at[1] else 1
    slope = (odds[place + 1] - odds[place]) / (at[place + 1] - at[place])
    return float(expit(odds[place] + slope * (here - at[place])))
