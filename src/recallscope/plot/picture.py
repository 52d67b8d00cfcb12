"""Pictures, drawn: points with bars, lines of theory, and a legend below each panel.

Names become places along the axis, points beyond an axis are moved to its edge, and bars that go on
beyond it end in arrows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill, wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recallscope.common.arrays import Column
from recallscope.plot.layout import LETTERS_PER_INCH, even_lines, handle, needed, small_legend
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.plot.style import GREY, look, new_figure, style_axes
from recallscope.plot.ticks import set_ticks

_PANEL = (2.5, 2.2)  # inches
_STACKED = 1.7  # the height of panels that stand one below the other
_NARROWEST, _MARGIN = 2.1, 0.6  # of a panel, and of its part outside the axes
_HEADING_LINE, _LINE = 0.16, 0.14  # inches, of a title and of all other text
_HALF_STEP = 0.4  # of a line at one name
_SPREAD = 0.5  # of the markers at one name
_ARROWS, _LOST = 0.025, 0.09  # from the end of the axis: heads of arrows, and points beyond it
_LINES = {Kind.THEORY: (1.3, "-"), Kind.REFERENCE: (1, "--")}  # widths and styles


def picture_figure(
    picture: Picture, title: str = "", *, width: float | None = None, caption: bool = True
) -> Figure:
    """Panels in rows of at most three, each with its legend below, and the caption underneath.

    >>> picture_figure(Picture(caption="Nothing yet."), "Capacity").get_suptitle()
    'Capacity'
    """
    panels = picture.panels
    columns = 2 if len(panels) == 4 else min(max(len(panels), 1), 3)
    width = width or max(_PANEL[0] * columns, 3.4)
    columns = min(columns, max(1, int(width / _NARROWEST)))
    words = picture.caption.replace(" %", "\u00a0%") if caption else ""
    below = even_lines(words, int(LETTERS_PER_INCH * width))
    heading = even_lines(title or picture.title, int(0.75 * LETTERS_PER_INCH * width))
    letters = int(LETTERS_PER_INCH * (width / columns - _MARGIN))
    height = _STACKED if columns == 1 < len(panels) else _PANEL[1]
    heights = [
        least + max(measure(panel, letters) for panel in panels[start : start + columns])
        for start in range(0, len(panels), columns)
        for least, measure in ((height, _title_height), (0, _legend_height))
    ]
    text = 0.1 + _HEADING_LINE * len(heading) + _LINE * len(below)
    figure = new_figure(width, text + sum(heights) + 0.1)
    figure.suptitle(_plain("\n".join(heading)), fontsize=9)
    figure.supxlabel(_plain("\n".join(below)), fontsize=7, x=0.02, ha="left")
    if panels:
        grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
        for place, panel in enumerate(panels):
            row, column = divmod(place, columns)
            draw_panel(figure.add_subplot(grid[2 * row, column]), panel, letters)
            _explain(figure.add_subplot(grid[2 * row + 1, column]), panel, letters)
    return figure


def picture_caption(picture: Picture) -> str:
    """Return the caption: what is seen, in a paragraph."""
    return picture.caption


def draw_picture(axes: Sequence[Axes], picture: Picture) -> None:
    """Draw each panel on axes of the user's, with a small legend inside."""
    for panel_axes, panel in zip(needed(axes, len(picture.panels)), picture.panels, strict=True):
        draw_panel(panel_axes, panel)
        small_legend(panel_axes, _handles(panel, 40))


def draw_panel(axes: Axes, panel: Panel, letters: int = 40) -> None:
    """Draw a panel with a width of so many letters."""
    names, placed = _names(panel), _all_placed(panel)
    x, y, low, high = (
        np.concatenate([np.empty(0), *(getattr(points, name) for points in placed)])
        for name in ("x", "y", "low", "high")
    )
    if names:
        axes.set_xlim(-0.5, len(names) - 0.5)
        letters_per_name = 16 if _aslant(names) else int(0.8 * letters / len(names))
        axes.set_xticks(range(len(names)), [_plain(fill(name, letters_per_name)) for name in names])
    elif placed:
        axes.set_xscale("log" if panel.log_x else "linear")
        axes.set_xlim(_limits(x, x, x, panel.log_x))
        measured = [points for points in placed if points.series.kind is Kind.MEASURED]
        sizes = {size for points in measured for size in points.x.tolist()}
        round_ones = {size for size in sizes if size.is_integer() or size == float(f"{size:.1g}")}
        # A few among many that were not chosen are round by accident.
        chosen = sorted(round_ones) if 2 * len(round_ones) >= len(sizes) else []
        set_ticks(axes.xaxis, chosen, _base(sizes))
    if placed:
        log_y = panel.log_y and bool(np.any(y > 0))
        axes.set_yscale("log" if log_y else "linear")
        axes.set_ylim(_limits(y, low, high, log_y))
        axes.set_ylim(bottom=panel.y_from)
        set_ticks(axes.yaxis, base=_base(set(y.tolist())))
    for points in placed:
        (_draw_points if points.series.kind is Kind.MEASURED else _draw_line)(axes, points)
    if not placed:
        where: dict[str, Any] = {"xycoords": "axes fraction", "ha": "center"}
        axes.annotate("nothing to show yet", (0.5, 0.5), color=GREY, fontsize=7, **where)
    axes.set_title(_plain(fill(panel.title, letters)), fontsize=7.5)
    axes.set_xlabel(_plain(fill(panel.x, letters)), fontsize=7.5)
    axes.set_ylabel(_plain(fill(panel.y, 34)), fontsize=7.5)
    style_axes(axes)
    if names:
        axes.grid(False, axis="x")
        if _aslant(names):
            for label in axes.get_xticklabels():
                label.set(rotation=35, ha="right", rotation_mode="anchor")


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """A series where it is drawn; NaN breaks a line."""

    series: Series
    place: int
    x: Column
    y: Column
    low: Column
    high: Column

    @property
    def look(self) -> dict[str, Any]:
        number = self.place if self.series.colour is None else self.series.colour
        if self.series.kind is Kind.MEASURED:
            return look(number)
        colour = GREY if self.series.kind is Kind.REFERENCE else look(number)["color"]
        if len(self.y) == 1:  # a line of one point would not be seen
            return {"color": colour, "marker": "*", "linestyle": ""}
        width, style = _LINES[self.series.kind]
        return {"color": colour, "linewidth": width, "linestyle": style}


def _names(panel: Panel) -> list[str]:
    """The names along the axis, in the order in which they first occur; none if it has numbers."""
    xs = [x for series in panel.series for x in series.x]
    return list(dict.fromkeys(map(str, xs))) if any(isinstance(x, str) for x in xs) else []


def _all_placed(panel: Panel) -> list[_Placed]:
    """Return the points that can be drawn."""
    placed = [_placed(panel, _names(panel), place) for place in range(len(panel.series))]
    return [points for points in placed if len(points.y)]


def _placed(panel: Panel, names: Sequence[str], place: int) -> _Placed:
    series = panel.series[place]
    y = np.array(series.y, dtype=float)
    low = y if series.low is None else np.array(series.low, dtype=float)
    high = y if series.high is None else np.array(series.high, dtype=float)
    low, high = np.where(np.isnan(low), y, low), np.where(np.isnan(high), y, high)
    # If the point of a bound is infinite, its known end replaces it.
    y = np.where(np.isposinf(y), low, np.where(np.isneginf(y), high, y))
    x = np.array([names.index(str(name)) if names else name for name in series.x], dtype=float)
    known = np.isfinite(x) & np.isfinite(y)
    x, y, low, high = x[known], y[known], low[known], high[known]
    if names and series.kind is Kind.MEASURED:
        # Markers at one name stand side by side.
        measured = [i for i, other in enumerate(panel.series) if other.kind is Kind.MEASURED]
        x = x + _SPREAD * ((measured.index(place) + 0.5) / len(measured) - 0.5)
    elif names:  # and lines become steps
        gap = np.full_like(x, np.nan)
        x = np.stack([x - _HALF_STEP, x + _HALF_STEP, gap], axis=1).ravel()
        y, low, high = (
            np.stack([values, values, gap], axis=1).ravel() for values in (y, low, high)
        )
    return _Placed(series=series, place=place, x=x, y=y, low=low, high=high)


def _length(values: Column, log: bool) -> Column:
    """Along the axis."""
    if not log:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values > 0, np.log10(values), -np.inf)


def _limits(value: Column, low: Column, high: Column, log: bool) -> tuple[float, float]:
    """The ends of an axis for points with bars.

    A bar that is so long that it would squeeze the rest goes on beyond it.
    """
    value, low, high = (_length(values, log) for values in (value, low, high))
    shown = np.isfinite(value)
    start, end = float(value[shown].min()), float(value[shown].max())
    lengths = np.concatenate([value[shown] - low[shown], high[shown] - value[shown]])
    lengths = lengths[np.isfinite(lengths) & (lengths > 0)]
    if len(lengths):
        reach = 2 * (end - start) + 3 * float(np.median(lengths))
        ends = np.concatenate([low[shown], high[shown]])
        inside = ends[(ends >= start - reach) & (ends <= end + reach)]
        start, end = float(min(start, *inside)), float(max(end, *inside))
    pad = 0.06 * (end - start) or (0.3 if log else 0.1 * abs(end) or 1.0)
    # Space for the arrow of a bar that continues.
    first = start - pad * (3 if np.any(low < start) else 1)
    last = end + pad * (3 if np.any(high > end) else 1)
    return (10**first, 10**last) if log else (first, last)


def _base(values: set[float]) -> int:
    """Ticks are powers of two where all values are, else of ten."""
    halvings = np.log2([value for value in values if value > 0])
    return 2 if np.allclose(halvings, np.round(halvings), atol=1e-6) else 10


def _inside(axes: Axes, fraction: float) -> tuple[float, float]:
    """Places next to both ends of the axis of y, this fraction of it away from them."""
    to_data = axes.transAxes + axes.transData.inverted()
    low, high = (float(to_data.transform((0, at))[1]) for at in (fraction, 1 - fraction))
    return low, high


def _draw_points(axes: Axes, points: _Placed) -> None:
    bottom, top = axes.get_ylim()
    first, last = _inside(axes, _ARROWS)
    y = np.where(points.y < bottom, _inside(axes, _LOST)[0], np.minimum(points.y, last))
    low = np.minimum(np.clip(points.low, first, last), y)
    high = np.maximum(np.clip(points.high, first, last), y)
    bars = np.array([y - low, high - y])
    axes.errorbar(
        points.x,
        y,
        yerr=bars if np.any(bars > 0) else None,
        **points.look,
        markersize=3.5,
        elinewidth=0.8,
        capsize=1.5,
        zorder=3,
        clip_on=False,
    )
    for beyond, ends, head in ((points.high > top, high, "^"), (points.low < bottom, low, "v")):
        look = points.look | {"marker": head, "markersize": 4}
        axes.plot(points.x[beyond], ends[beyond], **look)


def _draw_line(axes: Axes, line: _Placed) -> None:
    axes.plot(line.x, line.y, zorder=2, **line.look)
    if np.any(line.low < line.y) or np.any(line.high > line.y):
        colour = line.look["color"]
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.15, linewidth=0)


def _plain(text: str) -> str:
    """Text as it is: a dollar starts no formula."""
    return text.replace("$", r"\$")


def _aslant(names: Sequence[str]) -> bool:
    """Whether names are too many or too long to stand side by side."""
    return len(names) > 3 and sum(map(len, names)) > 24


def _legend_columns(panel: Panel, letters: int) -> int:
    longest = max((len(series.label) for series in panel.series), default=1)
    return max(1, min(3, letters // (longest + 5)))


def _title_height(panel: Panel, letters: int) -> float:
    """Return the height that titles of more than a line add: axes keep their size."""
    lines = sum(len(wrap(title, letters)) for title in (panel.title, panel.x))
    return _LINE * max(lines - 2, 0)


def _legend_height(panel: Panel, letters: int) -> float:
    if not _handles(panel, letters):
        return 0.5 * _LINE
    lines = sum(len(wrap(series.label, letters - 5)) for series in panel.series)
    return _LINE * (0.5 + max(math.ceil(lines / _legend_columns(panel, letters)), 1))


def _explain(axes: Axes, panel: Panel, letters: int) -> None:
    """Draw the legend in separate axes, where it never covers data."""
    axes.axis("off")
    handles = _handles(panel, letters - 5)
    if not handles:
        return
    axes.legend(
        handles=handles,
        loc="upper center",
        borderaxespad=0,
        fontsize=7,
        frameon=False,
        labelspacing=0.25,
        handlelength=1.6,
        columnspacing=1.2,
        ncols=_legend_columns(panel, letters),
    )


def _handles(panel: Panel, letters: int) -> list[Line2D]:
    named = [points for points in _all_placed(panel) if points.series.label]
    if len(panel.series) == 1 and panel.series[0].kind is Kind.MEASURED:
        return []  # its title says what it is
    return [handle(_plain(fill(points.series.label, letters)), **points.look) for points in named]
