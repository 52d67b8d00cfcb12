"""The difference of two accuracies measured at the same seeds, with an interval for its mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from recallscope.statistics.intervals import Interval, mean_interval


class PairedDifference(NamedTuple):
    """Two means over the same seeds and the mean of second minus first, each with its interval."""

    first: Interval
    second: Interval
    difference: Interval


def paired_difference(
    first: Sequence[float], second: Sequence[float], tests: Sequence[int], confidence: float = 0.95
) -> PairedDifference:
    """Second minus first, from one accuracy of each at every seed.

    The intervals of the two means allow for seeds unlike those seen and for accuracies near 0 and
    1. They are joined as errors with the correlation of the seeds, by Zou and Donner's "method of
    variance estimates recovery". Few seeds say little about the correlation too, and it is taken as
    (n − 2)/(n − 1) of what is seen. Pairs that are all equal do not exclude some that differ.

    >>> first, second = [0.50, 0.55, 0.45, 0.52], [0.60, 0.66, 0.54, 0.63]
    >>> mean, low, high = paired_difference(first, second, [4096] * 4).difference
    >>> round(mean, 4), 0 < low, high < 0.2
    (0.1025, True, True)
    """
    if not len(first) == len(second) == len(tests):
        raise ValueError("a paired difference needs two accuracies and a number of tests each time")
    a, b = mean_interval(first, tests, confidence), mean_interval(second, tests, confidence)
    trusted = _correlation(first, second) * max(len(tests) - 2, 0) / max(len(tests) - 1, 1)
    mean = b.mean - a.mean
    low = max(mean - _joined(b.mean - b.low, a.high - a.mean, trusted), -1.0)
    high = min(mean + _joined(b.high - b.mean, a.mean - a.low, trusted), 1.0)
    return PairedDifference(a, b, Interval(mean, low, high))


def _correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """The correlation of the two accuracies over seeds; 0 if one of them is always the same."""
    if len(set(first)) == 1 or len(set(second)) == 1:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def _joined(one: float, other: float, correlation: float) -> float:
    """The size of the difference of two errors."""
    return float(np.sqrt(max(one**2 + other**2 - 2 * correlation * one * other, 0.0)))
