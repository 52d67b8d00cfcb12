"""Series of the figures of statements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from recallscope.plot.panels import Kind, Series, theory_line
from recallscope.statistics.intervals import Interval
from reproduction.critical_sizes import CriticalSize
from reproduction.intervals import factor


def _dimension(search: CriticalSize) -> float:
    return float(search.problem.dim)


def critical_series(
    label: str,
    searches: Sequence[CriticalSize],
    colour: int | None = None,
    x: Callable[[CriticalSize], float] = _dimension,
) -> Series:
    """Critical sizes over the dimension or another number of their problems, with 95 % bars."""
    points = [(x(search), factor(search.shown)) for search in searches]
    return measured_series(label, points, colour)


def theory_series(label: str, searches: Sequence[CriticalSize], colour: int) -> Series:
    """Predictions of closed forms over the dimension, where they reach the target."""
    known = [
        (_dimension(search), float(search.theory))
        for search in searches
        if search.theory is not None
    ]
    return theory_line(label, known, colour)


def measured_series(
    label: str, points: Iterable[tuple[Any, Interval]], colour: int | None = None
) -> Series:
    """Points with bars; unknown ones are left out."""
    known = [(x, *interval) for x, interval in points if not math.isnan(interval.mean)]
    x, y, low, high = ([point[place] for point in known] for place in range(4))
    return Series(label, Kind.MEASURED, x, y, low, high, colour)


def compared_with_theory(searches: Mapping[str, Sequence[CriticalSize]]) -> list[Series]:
    """Critical sizes over the dimension by label, each with the closed forms in its colour."""
    return [
        part
        for place, (label, here) in enumerate(searches.items())
        for part in (
            critical_series(label, here, place),
            theory_series(f"closed forms, {label}", here, place),
        )
    ]
