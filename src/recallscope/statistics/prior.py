"""The prior of a search: what is believed of the crossing before any run."""

from __future__ import annotations

import numpy as np

from recallscope.common.arrays import Column

_OUTSIDE = 0.1  # the fraction of the prior on either side of the range
_THEORY_SCALE = 0.3  # of log size: what the closed forms are trusted to


def log_prior(crossing: Column, low: float, high: float, theory: float | None) -> Column:
    """Flat; or half flat and half about what theory says, with tails that data soon overrule."""
    margin = margin_of(low, high)
    inside = (crossing >= low) & (crossing <= high)
    density = np.where(inside, (1 - 2 * _OUTSIDE) / (high - low), _OUTSIDE / margin)
    if theory is not None:
        centre = min(max(theory, low - margin / 2), high + margin / 2)
        z = (crossing - centre) / _THEORY_SCALE
        near = 0.3676 / _THEORY_SCALE * (1 + z**2 / 3) ** -2  # Student's, three degrees of freedom
        density = 0.5 * density + 0.5 * near
    return np.log(density)


def margin_of(low: float, high: float) -> float:
    """How far outside of the range the crossing may be; further makes no difference."""
    return max(1.0, (high - low) / 2)
