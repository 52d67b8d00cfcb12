"""Series of the figures of claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from recallscope.measurement.critical import CriticalSearch
from recallscope.paper.analysis import log_size
from recallscope.paper.intervals import factor
from recallscope.results.panels import Kind, Series, theory_line
from recallscope.statistics.intervals import Interval


def _dimension(search: CriticalSearch) -> float:
    return float(search.problem.dim)


def critical_series(
    label: str,
    searches: Sequence[CriticalSearch],
    colour: int | None = None,
    x: Callable[[CriticalSearch], float] = _dimension,
) -> Series:
    """Critical sizes over the dimension or another number of their problems, with 95 % bars."""
    points = [(x(search), factor(log_size(search, 0.95))) for search in searches]
    return measured_series(label, points, colour)


def theory_series(label: str, searches: Sequence[CriticalSearch], colour: int) -> Series:
    """Predictions of closed forms over the dimension, where they reach the target."""
    known = [(_dimension(each), float(each.theory)) for each in searches if each.theory is not None]
    return theory_line(label, known, colour)


def measured_series(
    label: str, points: Iterable[tuple[Any, Interval]], colour: int | None = None
) -> Series:
    """Points with bars; unknown ones are left out."""
    known = [(x, *interval) for x, interval in points if not math.isnan(interval.mean)]
    x, y, low, high = ([each[place] for each in known] for place in range(4))
    return Series(label, Kind.MEASURED, x, y, low, high, colour)


def compared_with_theory(searches: Mapping[str, Sequence[CriticalSearch]]) -> list[Series]:
    """Critical sizes over the dimension by label, each with the closed forms in its colour."""
    return [
        part
        for place, (label, here) in enumerate(searches.items())
        for part in (
            critical_series(label, here, place),
            theory_series(f"closed forms, {label}", here, place),
        )
    ]
