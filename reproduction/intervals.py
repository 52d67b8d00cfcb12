"""Numbers with intervals of the judged level: from seeds, combined, and as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.special import stdtrit  # type: ignore[import-untyped]

from recallscope.statistics.intervals import Interval
from reproduction.verdict import LEVEL

UNKNOWN = Interval(math.nan, -math.inf, math.inf)
"""The interval of a number that was not measured."""
_DRAWS = 2000


def minus(first: Interval, second: Interval) -> Interval:
    """The difference of two independent numbers."""
    mean = first.mean - second.mean
    return Interval(
        mean,
        mean - math.hypot(first.mean - first.low, second.high - second.mean),
        mean + math.hypot(first.high - first.mean, second.mean - second.low),
    )


def average(intervals: Sequence[Interval]) -> Interval:
    """The mean of independent numbers."""
    if not intervals:
        return UNKNOWN
    mean = math.fsum(interval.mean for interval in intervals) / len(intervals)
    return Interval(
        mean,
        mean
        - math.hypot(*(interval.mean - interval.low for interval in intervals)) / len(intervals),
        mean
        + math.hypot(*(interval.high - interval.mean for interval in intervals)) / len(intervals),
    )


def extreme(end: Callable[[Iterable[float]], float], intervals: Iterable[Interval]) -> Interval:
    """The smallest (min) or the largest (max) of several numbers."""
    return Interval(*map(end, zip(*intervals, strict=True)))


def moved(interval: Interval, by: float) -> Interval:
    """An interval with a number added to it."""
    return Interval(*(end + by for end in interval))


def factor(log: Interval) -> Interval:
    """The number from its logarithm; open ends stay open.

    >>> factor(Interval(0.0, -math.inf, math.inf))
    Interval(mean=1.0, low=-inf, high=inf)
    """
    return Interval(*(end if math.isinf(end) else math.exp(end) for end in log))


def ratio(first: Interval, second: Interval) -> Interval:
    """The ratio of two independent numbers, given by their logarithms."""
    return factor(minus(first, second))


def mean_over(values: Sequence[float], level: float = LEVEL) -> Interval:
    """The mean of independent numbers, one per seed, with Student's interval.

    >>> mean, low, high = mean_over([1.0, 1.1, 0.9, 1.0])
    >>> round(mean, 3), low < 1 < high
    (1.0, True)
    """
    if not len(values):
        return UNKNOWN
    mean = float(np.mean(values))
    if len(values) < 2:
        return Interval(mean, -math.inf, math.inf)
    error = np.std(values, ddof=1) / math.sqrt(len(values))
    reach = stdtrit(len(values) - 1, (1 + level) / 2) * error  # scipy.stats takes long to import
    return Interval(mean, float(mean - reach), float(mean + reach))


def drawn_again(number: Callable[[np.ndarray], np.ndarray], seeds: int) -> Interval:
    """A number from all seeds together, with a bootstrap interval over seeds.

    `number` gets a matrix of how often each seed was drawn, a row a draw. Draws in which it is not
    defined are left out.

    >>> values = np.array([1.0, 2.0, 3.0, 4.0] * 8)
    >>> interval = drawn_again(lambda times: times @ values / times.sum(axis=1), len(values))
    >>> interval.low < interval.mean == 2.5 < interval.high
    True
    """
    whole = float(number(np.ones((1, seeds)))[0]) if seeds else math.nan
    if math.isnan(whole):
        return UNKNOWN
    drawn = np.random.default_rng(0).integers(seeds, size=(_DRAWS, seeds))
    times = np.zeros((_DRAWS, seeds))
    np.add.at(times, (np.arange(_DRAWS)[:, None], drawn), 1.0)
    low, high = np.nanquantile(number(times), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(whole, float(low), float(high))


def interval_row(name: str, interval: Interval) -> dict[str, Any]:
    """A number as cells of a table: its mean under a name, and its ends."""
    return {name: interval.mean, "low": interval.low, "high": interval.high}


def shown(interval: Interval, digits: int = 2) -> str:
    """A number with its interval, for a sentence.

    >>> shown(Interval(-1.416, -1.6, -1.2))
    '−1.42 (−1.60 to −1.20)'
    """
    return _in_words(interval, lambda end: f"{end:.{digits}f}".replace("-", "−"))


def count_shown(interval: Interval) -> str:
    """A large number with its interval, rounded to its known digits.

    >>> count_shown(Interval(1234.5, 1000.2, math.inf))
    '1,230 (above 1,000)'
    """
    return _in_words(interval, lambda end: f"{float(f'{end:.3g}'):,.0f}")


def _in_words(interval: Interval, text_of: Callable[[float], str]) -> str:
    mean, low, high = interval
    if math.isnan(mean):
        return "unknown"
    if math.isfinite(low) and math.isfinite(high):
        return f"{text_of(mean)} ({text_of(low)} to {text_of(high)})"
    if math.isfinite(low) or math.isfinite(high):
        end = f"above {text_of(low)}" if math.isfinite(low) else f"below {text_of(high)}"
        return f"{text_of(mean)} ({end})"
    return f"{text_of(mean)} (unknown)"
