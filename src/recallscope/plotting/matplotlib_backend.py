"""A picture on paper: matplotlib, told apart in grey, readable at the width of a column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullLocator

from recallscope.common.formatting import format_number
from recallscope.plotting.geometry import GREY, NOTHING, Drawing, Mark, place_marks
from recallscope.plotting.panels import Kind, Picture
from recallscope.plotting.style import MARKERS, new_figure, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis as PrintedAxis
    from matplotlib.figure import Figure

    from recallscope.plotting.geometry import DrawnAxis

_PANEL = (2.5, 2.2)  # inches
_HEADING_LINE, _TITLE_LINE, _LEGEND_LINE, _CAPTION_LINE = 0.16, 0.14, 0.15, 0.125
_TITLE_WIDTH, _LEGEND_WIDTH = 38, 40  # characters
_LINES: dict[Kind, tuple[Literal["-", "--"], float]] = {
    Kind.THEORY: ("-", 1.3),
    Kind.REFERENCE: ("-", 0.8),
}


def matplotlib_figure(picture: Picture, title: str) -> Figure:
    """Panels in rows of at most three, each with its legend below, and the caption underneath.

    >>> matplotlib_figure(Picture(caption="Nothing yet."), "Capacity").get_suptitle()
    'Capacity'
    """
    drawings = [place_marks(panel) for panel in picture.panels]
    columns = 2 if len(drawings) == 4 else min(max(len(drawings), 1), 3)
    rows = math.ceil(len(drawings) / columns)
    width = max(_PANEL[0] * columns, 3.4)
    caption = wrap(picture.caption, round(19 * width))
    heading = wrap(title, round(11 * width))
    heights = [
        max(measure(drawing) for drawing in drawings[row * columns :][:columns])
        for row in range(rows)
        for measure in (_panel_height, _legend_height)
    ]
    words = 0.2 + _HEADING_LINE * len(heading) + _CAPTION_LINE * len(caption)
    figure = new_figure(width, words + sum(heights))
    figure.suptitle(_words("\n".join(heading)), fontsize=9)
    figure.supxlabel(_words("\n".join(caption)), fontsize=6.5, x=0.02, ha="left")
    if drawings:
        grid = figure.add_gridspec(2 * rows, columns, height_ratios=heights)
        for place, drawing in enumerate(drawings):
            row, column = divmod(place, columns)
            _draw(figure.add_subplot(grid[2 * row, column]), drawing)
            _explain(figure.add_subplot(grid[2 * row + 1, column]), drawing)
    return figure


def picture_figure(picture: Picture, *, width: float | None = None, caption: bool = True) -> Figure:
    """The same without a title, with or without its caption."""
    return matplotlib_figure(picture if caption else replace(picture, caption=""), "")


def draw_picture(axes: Sequence[Axes], picture: Picture) -> None:
    """Draw each panel on axes of the user's, with a legend inside."""
    for each, panel in zip(axes, picture.panels, strict=True):
        drawing = place_marks(panel)
        _draw(each, drawing)
        each.legend(
            handles=[_handle(mark) for mark in drawing.marks],
            labels=[_words(mark.label) for mark in drawing.marks],
            fontsize=6.5,
        )


def _words(text: str) -> str:
    """Text as it is: a dollar starts no formula."""
    return text.replace("$", r"\$")


def _draw(axes: Axes, drawing: Drawing) -> None:
    axes.set_xscale("log" if drawing.x.log else "linear")
    axes.set_yscale("log" if drawing.y.log else "linear")
    axes.set_xlim(drawing.x.low, drawing.x.high)
    axes.set_ylim(drawing.y.low, drawing.y.high)
    for mark in drawing.marks:
        if mark.kind is Kind.MEASURED:
            _draw_points(axes, mark)
        else:
            _draw_line(axes, mark)
    if not drawing.marks:
        axes.annotate(
            *(NOTHING, (0.5, 0.5)), xycoords="axes fraction", ha="center", color=GREY, fontsize=7
        )
    axes.set_title(_words(fill(drawing.title, _TITLE_WIDTH)), fontsize=8)
    axes.set_xlabel(_words(fill(drawing.x.title, _TITLE_WIDTH)), fontsize=7.5)
    axes.set_ylabel(_words(fill(drawing.y.title, 34)), fontsize=7.5)
    _tick(axes.xaxis, drawing.x)
    _tick(axes.yaxis, drawing.y)
    style_axes(axes)
    if drawing.x.names is not None:
        axes.grid(False, axis="x")
        if _aslant(drawing.x.names):
            axes.tick_params(axis="x", rotation=35)
            for label in axes.get_xticklabels():
                label.set_horizontalalignment("right")
                label.set_rotation_mode("anchor")


def _draw_points(axes: Axes, mark: Mark) -> None:
    axes.errorbar(
        mark.x,
        mark.y,
        yerr=np.array([mark.y - mark.low, mark.high - mark.y]) if mark.has_bars else None,
        fmt=MARKERS[mark.marker],
        color=mark.colour,
        markersize=3.5,
        linewidth=0.8,
        capsize=1.5,
        zorder=3,
        clip_on=False,
    )
    for beyond, ends, head in ((mark.up, mark.high, "^"), (mark.down, mark.low, "v")):
        axes.plot(mark.x[beyond], ends[beyond], head, color=mark.colour, markersize=4)


def _draw_line(axes: Axes, mark: Mark) -> None:
    style, width = _LINES[mark.kind]
    alone = "_" if len(mark.y) == 1 else ""  # a line of one point would not be seen
    axes.plot(
        mark.x, mark.y, linestyle=style, linewidth=width, color=mark.colour, marker=alone, zorder=2
    )
    if mark.has_bars:
        axes.fill_between(mark.x, mark.low, mark.high, color=mark.colour, alpha=0.15, linewidth=0)


def _tick(printed: PrintedAxis, axis: DrawnAxis) -> None:
    if axis.ticks is None:
        printed.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        printed.set_major_formatter(lambda value, _: format_number(value, 6))
        return
    names = axis.names or ()
    wrapped = 16 if not names or _aslant(names) else 32 // len(names)
    printed.set_ticks(list(axis.ticks), [_words(fill(label, wrapped)) for label in axis.labels])
    printed.set_minor_locator(NullLocator())


def _aslant(names: Sequence[str]) -> bool:
    """Whether names are too many or too long to stand side by side."""
    return len(names) > 3 and sum(map(len, names)) > 24


def _legend_columns(drawing: Drawing) -> int:
    longest = max((len(mark.label) for mark in drawing.marks), default=0)
    return 3 if longest <= 10 else 2 if longest <= 16 else 1


def _panel_height(drawing: Drawing) -> float:
    """Of a panel whose axes have the same room however long its titles are."""
    lines = sum(len(wrap(title, _TITLE_WIDTH)) for title in (drawing.title, drawing.x.title))
    return _PANEL[1] + _TITLE_LINE * max(lines - 2, 0)


def _legend_height(drawing: Drawing) -> float:
    lines = sum(len(wrap(mark.label, _LEGEND_WIDTH)) for mark in drawing.marks)
    return _LEGEND_LINE * max(math.ceil(lines / _legend_columns(drawing)), 1)


def _explain(axes: Axes, drawing: Drawing) -> None:
    """The legend, in axes of its own: it never covers what was measured."""
    axes.axis("off")
    if not drawing.marks:
        return
    axes.legend(
        handles=[_handle(mark) for mark in drawing.marks],
        labels=[_words(fill(mark.label, _LEGEND_WIDTH)) for mark in drawing.marks],
        loc="upper center",
        borderaxespad=0,
        fontsize=6.5,
        frameon=False,
        labelspacing=0.25,
        ncols=_legend_columns(drawing),
    )


def _handle(mark: Mark) -> Line2D:
    if mark.kind is Kind.MEASURED:
        return Line2D(
            *([], []), color=mark.colour, marker=MARKERS[mark.marker], markersize=3.5, linestyle=""
        )
    style, width = _LINES[mark.kind]
    return Line2D([], [], color=mark.colour, linestyle=style, linewidth=width)
