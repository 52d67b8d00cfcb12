"""Where everything in a panel lies: decided once, so that print and screen show the same.

Names become places along the axis, points beyond an axis are moved to its edge, and bars without
an end are marked as such.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from recallscope.common.formatting import format_number, format_range
from recallscope.plotting.panels import Kind, Panel, Series
from recallscope.plotting.style import COLOURS, MARKERS

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

GREY = "#767676"
NOTHING = "nothing to show yet"
_HALF_STEP = 0.4  # of a line at one name
_SPREAD = 0.5  # of the markers at one name
_MOST_TICKS = 6
_ARROWS, _LOST = 0.025, 0.09  # from the edge: heads of arrows, and points that lie beyond it


@dataclass(frozen=True, kw_only=True)
class DrawnAxis:
    """From `low` to `high`; `ticks` is None where any round numbers will do."""

    title: str
    log: bool
    low: float
    high: float
    ticks: Sequence[float] | None = None
    names: Sequence[str] | None = None

    def inside(self, share: float) -> tuple[float, float]:
        """Places next to both ends, this share of the axis away from them."""
        low, high = _unit(np.array([self.low, self.high]), self.log)
        ends = low + share * (high - low), high - share * (high - low)
        return (10 ** ends[0], 10 ** ends[1]) if self.log else ends

    @property
    def labels(self) -> list[str]:
        """What stands at the ticks."""
        return (
            list(self.names)
            if self.names is not None
            else [format_number(t, 6) for t in self.ticks or ()]
        )


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One series in place; NaN breaks a line.

    `up` and `down` say where a bar, or the point itself, goes on beyond the edge of the axes.
    `said` tells the true numbers of each point, in two lines.
    """

    label: str
    kind: Kind
    colour: str
    marker: int
    x: Float[np.ndarray, " n"]
    y: Float[np.ndarray, " n"]
    low: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    down: Bool[np.ndarray, " n"]
    up: Bool[np.ndarray, " n"]
    said: Sequence[str]

    @property
    def has_bars(self) -> bool:
        """Whether there is anything to draw but the points."""
        return bool(np.any(self.low < self.y) or np.any(self.high > self.y))

    def pieces(self) -> Iterator[slice]:
        """The unbroken parts of a line."""
        edges = np.flatnonzero(np.diff(np.concatenate([[0], np.isfinite(self.y), [0]])))
        for start, end in edges.reshape(-1, 2):
            yield slice(int(start), int(end))


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A panel with everything in its place."""

    title: str
    x: DrawnAxis
    y: DrawnAxis
    marks: Sequence[Mark]


@dataclass(frozen=True, kw_only=True)
class _Points:
    series: Series
    place: int
    x: Float[np.ndarray, " n"]
    y: Float[np.ndarray, " n"]
    low: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    said: Sequence[str]


def place_marks(panel: Panel) -> Drawing:
    """Work out axes and places of all that a panel shows.

    >>> bars = {"low": [1, 4], "high": [2, math.inf]}
    >>> series = Series(label="measured", kind=Kind.MEASURED, x=[8, 16], y=[1, 4], **bars)
    >>> drawn = place_marks(Panel(title="", x="d", y="N*", series=[series], log_x=True))
    >>> list(drawn.x.ticks), drawn.marks[0].up.tolist(), drawn.marks[0].said[1]
    ([8.0, 16.0], [False, True], 'd: 16\\nN*: 4 (above 4)')
    """
    names = _names(panel)
    points = [_points(panel, names, place) for place in range(len(panel.series))]
    if names:
        x_axis = DrawnAxis(
            title=panel.x,
            log=False,
            low=-0.5,
            high=len(names) - 0.5,
            ticks=[float(place) for place in range(len(names))],
            names=names,
        )
    else:
        x_axis = _axis(
            panel.x,
            panel.log_x,
            [(p.x, p.x, p.x) for p in points],
            [float(x) for p in points if p.series.kind is Kind.MEASURED for x in p.x],
        )
    y_axis = _axis(panel.y, panel.log_y, [(p.y, p.low, p.high) for p in points])
    marks = [_mark(each, x_axis, y_axis) for each in points if len(each.y)]
    return Drawing(title=panel.title, x=x_axis, y=y_axis, marks=marks)


def _names(panel: Panel) -> list[str]:
    """The names along the axis, in the order in which they first occur; none if it has numbers."""
    xs = [x for series in panel.series for x in series.x]
    return list(dict.fromkeys(map(str, xs))) if any(isinstance(x, str) for x in xs) else []


def _points(panel: Panel, names: Sequence[str], place: int) -> _Points:
    series = panel.series[place]
    y = np.array(series.y, dtype=float)
    low = y if series.low is None else np.array(series.low, dtype=float)
    high = y if series.high is None else np.array(series.high, dtype=float)
    said = [_said(panel, series, at) for at in range(len(y))]
    low, high = np.where(np.isnan(low), y, low), np.where(np.isnan(high), y, high)
    # Of a bound whose point is infinite, the end that is known is the point.
    y = np.where(np.isposinf(y), low, np.where(np.isneginf(y), high, y))
    x = np.array([names.index(str(each)) if names else each for each in series.x], dtype=float)
    known = np.isfinite(x) & np.isfinite(y)
    x, y, low, high = x[known], y[known], low[known], high[known]
    said = [words for words, is_known in zip(said, known, strict=True) if is_known]
    if names and series.kind is Kind.MEASURED:
        x = x + _aside(panel, place)
    elif names:
        x = np.stack([x - _HALF_STEP, x + _HALF_STEP, np.full_like(x, np.nan)], axis=1).ravel()
        y, low, high = (_stepped(values) for values in (y, low, high))
        said = [words for each in said for words in (each, each, "")]
    return _Points(series=series, place=place, x=x, y=y, low=low, high=high, said=said)


def _stepped(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " 3n"]:
    steps: Float[np.ndarray, " 3n"] = np.stack(
        [values, values, np.full_like(values, np.nan)], axis=1
    ).ravel()
    return steps


def _aside(panel: Panel, place: int) -> float:
    """Markers at one name stand side by side."""
    measured = [i for i, series in enumerate(panel.series) if series.kind is Kind.MEASURED]
    return _SPREAD * ((measured.index(place) + 0.5) / len(measured) - 0.5)


def _said(panel: Panel, series: Series, at: int) -> str:
    x = series.x[at]
    first = x if isinstance(x, str) else f"{panel.x}: {format_number(x, 4)}"
    text = f"{first}\n{panel.y}: {format_number(series.y[at], 4)}"
    if series.low is None or series.high is None:
        return text
    return f"{text} ({format_range(series.low[at], series.high[at], 4)})"


def _axis(
    title: str,
    log: bool,
    spans: Sequence[tuple[Float[np.ndarray, " n"], ...]],
    chosen: Sequence[float] = (),
) -> DrawnAxis:
    """An axis that shows points with their bars, with ticks at sizes that were chosen if few."""
    value, low, high = (
        np.concatenate([np.empty(0), *(span[part] for span in spans)]) for part in range(3)
    )
    shown = np.isfinite(value) & ((value > 0) | (not log))
    if not shown.any():
        return DrawnAxis(title=title, log=False, low=0, high=1)
    value, low, high = (_unit(each, log) for each in (value, low, high))
    start, end = _extent(value[shown], low[shown], high[shown])
    pad = 0.06 * (end - start) or (0.3 if log else 0.1 * abs(end) or 1.0)
    start -= pad * (3 if np.any(low < start) else 1)  # room for the arrow of a bar that goes on
    end += pad * (3 if np.any(high > end) else 1)
    if not log:
        return DrawnAxis(title=title, log=False, low=start, high=end)
    ticks = _few_sizes(chosen, end - start) or _log_ticks(start, end, 10.0 ** value[shown])
    return DrawnAxis(title=title, log=True, low=10**start, high=10**end, ticks=ticks)


def _unit(values: Float[np.ndarray, " n"], log: bool) -> Float[np.ndarray, " n"]:
    """As lengths along the axis."""
    if not log:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths: Float[np.ndarray, " n"] = np.where(values > 0, np.log10(values), -np.inf)
    return lengths


def _extent(
    value: Float[np.ndarray, " n"], low: Float[np.ndarray, " n"], high: Float[np.ndarray, " n"]
) -> tuple[float, float]:
    """Where the points are, and their bars unless one is so long that it would squeeze the rest."""
    start, end = float(value.min()), float(value.max())
    lengths = np.concatenate([value - low, high - value])
    lengths = lengths[np.isfinite(lengths) & (lengths > 0)]
    if len(lengths):
        reach = 2 * (end - start) + 3 * float(np.median(lengths))
        inside = np.concatenate([low, high])
        inside = inside[(inside >= start - reach) & (inside <= end + reach)]
        start, end = min(start, *inside), max(end, *inside)
    return float(start), float(end)


def _few_sizes(chosen: Sequence[float], length: float) -> list[float]:
    """Sizes few enough and far enough apart to be ticks, or none."""
    sizes = sorted(set(chosen))
    whole = all(size > 0 and size.is_integer() for size in sizes)
    if not (whole and 1 < len(sizes) <= _MOST_TICKS):
        return []
    return sizes if np.diff(np.log10(sizes)).min() > 0.12 * length else []


def _log_ticks(start: float, end: float, values: Float[np.ndarray, " n"]) -> list[float]:
    """Round numbers: powers of two where all values are, else of ten, and between if needed."""
    halvings = np.log2(values)
    if np.allclose(halvings, np.round(halvings), atol=1e-6):
        powers = np.arange(math.ceil(start / math.log10(2)), math.floor(end / math.log10(2)) + 1)
        stride = max(1, math.ceil(len(powers) / _MOST_TICKS))
        if len(powers) > 1 and stride <= 3:
            return [float(2.0**power) for power in powers[::stride]]
    decades = np.arange(math.floor(start), math.ceil(end) + 1)
    for fronts in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        ticks = [float(front * 10.0**decade) for decade in decades for front in fronts]
        ticks = [tick for tick in ticks if start <= math.log10(tick) <= end]
        if len(ticks) > 2:
            return ticks[:: math.ceil(len(ticks) / _MOST_TICKS)]
    near = MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]).tick_values(10**start, 10**end)
    return [float(tick) for tick in near if 10**start <= tick <= 10**end]


def _mark(points: _Points, x: DrawnAxis, y: DrawnAxis) -> Mark:
    series = points.series
    number = points.place if series.colour is None else series.colour
    first, last = y.inside(_ARROWS)
    height = np.where(points.y < y.low, y.inside(_LOST)[0], np.minimum(points.y, last))
    return Mark(
        label=series.label,
        kind=series.kind,
        colour=GREY if series.kind is Kind.REFERENCE else COLOURS[number % len(COLOURS)],
        marker=number % len(MARKERS),
        x=np.clip(points.x, x.low, x.high),
        y=height,
        low=np.minimum(np.clip(points.low, first, last), height),
        high=np.maximum(np.clip(points.high, first, last), height),
        down=points.low < y.low,
        up=points.high > y.high,
        said=points.said,
    )
