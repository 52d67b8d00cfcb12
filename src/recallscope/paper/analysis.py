"""Numbers with intervals of the level that is judged, from searches, seeds and pairs of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

from recallscope.common.grouping import grouped_by
from recallscope.measurement.critical import CriticalSearch
from recallscope.paper.verdict import LEVEL
from recallscope.parts.axes import SIZES
from recallscope.record import Status
from recallscope.results.panels import Kind, Panel, Series
from recallscope.statistics.combining_power import Combination, Entry, combining_power
from recallscope.statistics.intervals import Interval
from recallscope.statistics.power_law import FitStatus, fit_law, read_points

if TYPE_CHECKING:
    from recallscope.paper.evidence import Evidence

UNKNOWN = Interval(math.nan, -math.inf, math.inf)
"""Of what was not measured: a crash is no data point."""
_DRAWS = 2000


def log_size(search: CriticalSearch, level: float = LEVEL) -> Interval:
    """The logarithm of a critical size; an end that lies outside of what was searched is open."""
    if search.status not in (Status.OK, Status.NOT_REACHED):
        return UNKNOWN
    found = search.crossing
    start, end = found.range
    middle = min(max(found.quantile(0.5), start), end)
    # Beyond the range the curve is a guess: what is known is that the crossing is not inside.
    first = min(found.quantile((1 - level) / 2), middle)
    last = max(found.quantile((1 + level) / 2), middle)
    low = first if first >= start else -math.inf
    high = last if last <= end else math.inf
    if SIZES[search.quantity].grows:
        return Interval(middle, low, high)
    return Interval(-middle, -high, -low)


def minus(first: Interval, second: Interval) -> Interval:
    """The difference of two numbers that were measured apart from each other."""
    mean = first.mean - second.mean
    return Interval(
        mean,
        mean - math.hypot(first.mean - first.low, second.high - second.mean),
        mean + math.hypot(first.high - first.mean, second.mean - second.low),
    )


def average(intervals: Sequence[Interval]) -> Interval:
    """The mean of numbers that were measured apart from each other."""
    mean = math.fsum(each.mean for each in intervals) / len(intervals)
    return Interval(
        mean,
        mean - math.hypot(*(each.mean - each.low for each in intervals)) / len(intervals),
        mean + math.hypot(*(each.high - each.mean for each in intervals)) / len(intervals),
    )


def extreme(end: Callable[[Iterable[float]], float], intervals: Iterable[Interval]) -> Interval:
    """The smallest (min) or the largest (max) of several numbers."""
    return Interval(*map(end, zip(*intervals, strict=True)))


def moved(interval: Interval, by: float) -> Interval:
    """An interval with a number added to it."""
    return Interval(*(end + by for end in interval))


def factor(log: Interval) -> Interval:
    """The number itself of one whose logarithm was measured; open ends stay open.

    >>> factor(Interval(0.0, -math.inf, math.inf))
    Interval(mean=1.0, low=-inf, high=inf)
    """
    return Interval(*(end if math.isinf(end) else math.exp(end) for end in log))


def mean_over(values: Sequence[float], level: float = LEVEL) -> Interval:
    """The mean of independent numbers, one a seed, with Student's interval.

    >>> mean, low, high = mean_over([1.0, 1.1, 0.9, 1.0])
    >>> round(mean, 3), low < 1 < high
    (1.0, True)
    """
    if not len(values):
        return UNKNOWN
    mean = float(np.mean(values))
    if len(values) < 2:
        return Interval(mean, -math.inf, math.inf)
    reach = stats.t.ppf((1 + level) / 2, len(values) - 1) * stats.sem(values)
    return Interval(mean, float(mean - reach), float(mean + reach))


def drawn_again(
    number: Callable[[Sequence[Any]], float], seeds: Sequence[Any], level: float = LEVEL
) -> Interval:
    """A number made of all seeds together, with an interval from drawing the seeds again.

    Draws in which it is not defined are left out.

    >>> found = drawn_again(lambda values: float(np.mean(values)), [1.0, 2.0, 3.0, 4.0] * 8)
    >>> found.low < found.mean == 2.5 < found.high
    True
    """
    whole = number(seeds) if len(seeds) else math.nan
    if math.isnan(whole):
        return UNKNOWN
    random = np.random.default_rng(0)
    draws = [
        number([seeds[at] for at in random.integers(len(seeds), size=len(seeds))])
        for _ in range(_DRAWS)
    ]
    low, high = np.nanquantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(whole, float(low), float(high))


def power_within(groups: Iterable[Sequence[CriticalSearch]], along: Along) -> Interval:
    """The power of one size in the critical size among searches that are alike in all else.

    Each group has a level of its own, so nothing is assumed of how the groups differ. Errors are
    those of the searches, or what is left about the groups' lines if that is more.
    """
    x, y, weight, free = [], [], [], -1
    for whole in groups:
        group = [search for search in whole if search.status is Status.OK]
        if len(group) < 2:
            continue
        sd = np.array([search.crossing.sd for search in group])
        size = np.array([log_size(search).mean for search in group])
        place = np.log([_along(search, along) for search in group])
        x.append(place - np.average(place, weights=sd**-2))
        y.append(size - np.average(size, weights=sd**-2))
        weight.append(sd**-2)
        free += len(group) - 1
    if free < 1:
        return UNKNOWN
    places, sizes, weights = (np.concatenate(each) for each in (x, y, weight))
    stiffness = float(weights @ places**2)
    slope = float(weights @ (places * sizes)) / stiffness
    left = float(weights @ (sizes - slope * places) ** 2) / free
    reach = stats.t.ppf((1 + LEVEL) / 2, free) * math.sqrt(max(left, 1.0) / stiffness)
    return Interval(slope, slope - reach, slope + reach)


def combination(searches: Sequence[CriticalSearch], rows: str, columns: str) -> Combination | None:
    """How two sizes combine in the critical size: as a product, a sum, or otherwise."""
    found = [search for search in searches if search.status is Status.OK]
    return combining_power(
        [
            Entry(
                getattr(search.problem, rows),
                getattr(search.problem, columns),
                log_size(search).mean,
                search.crossing.sd,
            )
            for search in found
        ],
        LEVEL,
    )


class Powers(dict[str, Interval]):
    """The power of each size in a critical size; `note` is what a reader must know of them."""

    note = ""


def powers(rows: Sequence[Mapping[str, Any]], *names: str) -> Powers:
    """Of the power law through critical sizes, with intervals of the level that is judged."""
    law = fit_law(read_points(rows, names), LEVEL)
    found = Powers({name: Interval(*power) for name, power in law.exponents.items()})
    if law.status is FitStatus.POOR_FIT:
        found.note = " (means over this grid: the law bends, and another grid would give others)"
    return found


def row(search: CriticalSearch, **more: Any) -> dict[str, Any]:
    """A critical size as a row of a table, with the sizes of its problem; 95 % intervals."""
    problem, size = search.problem, log_size(search, 0.95)
    sizes = {
        name: None if name == search.quantity else getattr(problem, name)
        for name in ("vocab", "samples", "dim", "length", "width")
    }
    reached = search.status is Status.OK
    value, low, high = (math.exp(end) if math.isfinite(end) else None for end in size)
    return {
        **{name: value for name, value in sizes.items() if value is not None},
        "critical": search.quantity,
        "status": str(search.status),
        "value": value if reached else None,
        "low": low,
        "high": high,
        "log_mean": size.mean if reached else None,
        "log_sd": search.crossing.sd if reached else None,
        "runs": search.evaluations,
        **more,
    }


Along = str | Callable[[CriticalSearch], float]
"""What a panel runs along: a size of the problem, or a number made of several."""


def critical_series(
    label: str, searches: Sequence[CriticalSearch], x: Along, colour: int | None = None
) -> Series:
    """Critical sizes along one size of their problems, with 95 % bars."""
    points = [(_along(search, x), factor(log_size(search, 0.95))) for search in searches]
    return measured_series(label, points, colour)


def measured_series(
    label: str, points: Iterable[tuple[Any, Interval]], colour: int | None = None
) -> Series:
    """Points with bars; what is not known is left out."""
    known = [(x, *interval) for x, interval in points if not math.isnan(interval.mean)]
    x, y, low, high = ([each[place] for each in known] for place in range(4))
    return Series(label, Kind.MEASURED, x, y, low, high, colour)


def interval_row(name: str, interval: Interval) -> dict[str, Any]:
    """A number as cells of a table: its mean under a name, and its ends."""
    return {name: interval.mean, "low": interval.low, "high": interval.high}


def over_dimensions(title: str, series: Sequence[Series], y: str = "N*, samples") -> Panel:
    """Critical sizes over the dimension, both on logarithmic axes."""
    return Panel(title=title, x="d, dimensions", y=y, log_x=True, log_y=True, series=series)


def theory_series(
    label: str, searches: Sequence[CriticalSearch], x: Along, colour: int | None = None
) -> Series:
    """What the closed forms say of the same, where they reach the target."""
    known = [search for search in searches if search.theory is not None]
    return Series(
        label,
        Kind.THEORY,
        [_along(search, x) for search in known],
        [float(search.theory or 0) for search in known],
        colour=colour,
    )


def compared_with_theory(
    title: str, searches: Mapping[str, Sequence[CriticalSearch]], y: str = "N*, samples"
) -> Panel:
    """Critical sizes over the dimension by label, each with the closed forms in its colour."""
    series = [
        part
        for place, (label, here) in enumerate(searches.items())
        for part in (
            critical_series(label, here, "dim", place),
            theory_series(f"closed forms, {label}", here, "dim", place),
        )
    ]
    return over_dimensions(title, series, y)


def _along(search: CriticalSearch, x: Along) -> float:
    return float(getattr(search.problem, x)) if isinstance(x, str) else x(search)


def grouped(searches: Sequence[CriticalSearch], name: str) -> dict[int, list[CriticalSearch]]:
    """Searches by one size of their problems, rising."""
    groups = grouped_by(searches, attrgetter(f"problem.{name}"))
    return dict(sorted(groups.items()))


def batches_by_length(evidence: Evidence) -> dict[int, list[CriticalSearch]]:
    """The critical sample sizes of random embeddings, short sequences and long, by their length."""
    return grouped(
        [*evidence.searches("random-short"), *evidence.searches("random-long")], "length"
    )


def shown(interval: Interval, digits: int = 2) -> str:
    """A number with its interval, for a sentence.

    >>> shown(Interval(-1.416, -1.6, -1.2))
    '−1.42 (−1.60 to −1.20)'
    """
    return _in_words(interval, lambda end: f"{end:.{digits}f}".replace("-", "−"))


def count_shown(interval: Interval) -> str:
    """A large number with its interval, rounded to what is known of it.

    >>> count_shown(Interval(1234.5, 1000.2, math.inf))
    '1,230 (above 1,000)'
    """
    return _in_words(interval, lambda end: f"{float(f'{end:.3g}'):,.0f}")


def _in_words(interval: Interval, told: Callable[[float], str]) -> str:
    mean, low, high = interval
    if math.isnan(mean):
        return "unknown"
    if math.isfinite(low) and math.isfinite(high):
        return f"{told(mean)} ({told(low)} to {told(high)})"
    if math.isfinite(low) or math.isfinite(high):
        end = f"above {told(low)}" if math.isfinite(low) else f"below {told(high)}"
        return f"{told(mean)} ({end})"
    return f"{told(mean)} (unknown)"
