"""The mean of an accuracy over seeds, with an interval that can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit  # type: ignore[import-untyped]

from recallscope.common.arrays import Column
from recallscope.statistics.log_gamma import log_gamma

_POINTS = 200
_SPREADS = 40
_LARGEST_LOGIT = 14.0  # a mean within one in a million of 0 or 1
_TWO_HUMPS = 0.1


class Interval(NamedTuple):
    """A mean and the ends of its interval."""

    mean: float
    low: float
    high: float


def mean_interval(
    fractions: Sequence[float], sizes: Sequence[int], confidence: float = 0.95
) -> Interval:
    """The mean of the fractions of successes seen in groups of the given sizes.

    Groups differ, and each was seen through a finite sample: successes are binomial, with rates
    that follow a Beta law over the groups. The interval is the central part of the posterior of
    its mean. The prior is flat in the mean. It falls as 1/(s + 0.05) in the spread s between
    groups, as a fraction of the largest that the mean allows. A law of two humps, seen with two
    tokens only, is taken to be ten times less likely. Few groups say little about others, and the
    interval shows it.

    >>> mean, low, high = mean_interval([0.50, 0.52, 0.47, 0.51], [1000] * 4)
    >>> round(mean, 3), 0.4 < low < 0.49, 0.51 < high < 0.6
    (0.5, True, True)
    >>> mean, low, high = mean_interval([1.0] * 4, [1000] * 4)
    >>> mean, 0.7 < low < 0.9, high
    (1.0, True, 1.0)
    """
    rates, groups = np.asarray(fractions, dtype=float), np.asarray(sizes, dtype=float)
    if rates.ndim != 1 or rates.shape != groups.shape or not len(rates):
        raise ValueError("an interval needs at least one group, and a size for each")
    if not np.all(groups >= 1):
        raise ValueError(f"fractions are of at least one test each, not of {sizes!r:.60}")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not {confidence}")
    mean = float(rates.mean())
    edges = np.linspace(-_LARGEST_LOGIT, _LARGEST_LOGIT, _POINTS + 1)
    weight = _posterior(rates * groups, groups, edges)
    for _ in range(2):  # closer and closer to where the posterior is
        inside = np.flatnonzero(weight > 1e-7 * weight.max())
        first, last = max(inside[0] - 1, 0), min(inside[-1] + 2, _POINTS)
        edges = np.linspace(edges[first], edges[last], _POINTS + 1)
        weight = _posterior(rates * groups, groups, edges)
    share = np.concatenate([[0], np.cumsum(weight)]) / weight.sum()
    low, high = expit(np.interp([(1 - confidence) / 2, (1 + confidence) / 2], share, edges))
    return Interval(mean, min(float(low), mean), max(float(high), mean))


def _posterior(successes: Column, sizes: Column, edges: Column) -> Column:
    """The weight of the means in each cell of logits, with the spread between groups summed out."""
    mean = expit((edges[1:] + edges[:-1]) / 2)
    root = (np.arange(_SPREADS) + 0.5) / _SPREADS
    spread = root**2  # finer where groups hardly differ
    concentration = spread**-2.0 - 1
    a = mean[:, None] * concentration
    b = concentration - a
    prior = root / (spread + 0.05)  # root: the points are not evenly spaced
    prior = np.where((a < 1) & (b < 1), _TWO_HUMPS * prior, prior)
    pairs, times = np.unique(np.stack([successes, sizes]), axis=1, return_counts=True)
    common = len(sizes) * log_gamma(concentration, 0)
    likelihood = -len(sizes) * (log_gamma(a, 0) + log_gamma(b, 0))
    for (count, size), repeated in zip(pairs.T, times, strict=True):
        common -= repeated * log_gamma(concentration, size)
        likelihood += repeated * (log_gamma(a, count) + log_gamma(b, size - count))
    likelihood += common
    posterior = np.exp(likelihood - likelihood.max()) * prior
    weight: Column = posterior.sum(axis=1)
    weight *= mean * (1 - mean)  # flat in the mean, not in its logit
    return weight
