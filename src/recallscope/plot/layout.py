"""Panels in rows as the width allows, their legend below them and the caption above."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from textwrap import fill, wrap
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recallscope.common.arrays import Table
from recallscope.common.errors import ProblemError
from recallscope.plot.style import new_figure

LETTERS_PER_INCH = 18.5  # of text of 7 points
_LINE = 0.125  # inches, of a caption
_HANDLE = 0.45  # inches, of what stands before a label


def panel_grid(
    count: int, width: float, height: float, narrowest: float, **more: Any
) -> tuple[Figure, list[Axes]]:
    """A figure of `width` inches, with panels of this height and at least `narrowest` wide."""
    most = max(1, min(count, int(width / narrowest)))
    rows = math.ceil(count / most)
    columns = math.ceil(count / rows)
    figure = new_figure(width, rows * height)
    panels = list(figure.subplots(rows, columns, squeeze=False, **more).flat)
    for unused in panels[count:]:
        unused.set_axis_off()
    return figure, panels[:count]


def explain(figure: Figure, handles: Sequence[Artist], caption: str) -> None:
    """Add legend and caption, for which the figure grows."""
    width = figure.get_figwidth()
    lines = even_lines(caption.replace(" %", "\u00a0%"), int(LETTERS_PER_INCH * width))
    letters = int(LETTERS_PER_INCH * (width - _HANDLE - 0.1))
    labels = [fill(str(artist.get_label()), letters) for artist in handles]
    longest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    columns = max(1, int((width - 0.1) / (longest / LETTERS_PER_INCH + _HANDLE)))
    rows = math.ceil(sum(label.count("\n") + 1 for label in labels) / columns)
    figure.set_figheight(figure.get_figheight() + _LINE * (len(lines) + 1.25 * rows))
    if lines:
        figure.suptitle("\n".join(lines), fontsize=7)
    if handles:
        figure.legend(
            handles=handles,
            labels=labels,
            loc="outside lower center",
            ncols=min(columns, len(handles)),
            fontsize=7,
            frameon=False,
            handlelength=1.8,
            columnspacing=1.2,
        )


def even_lines(text: str, letters: int) -> list[str]:
    """As few lines as possible, none of which is left with a last word.

    >>> even_lines("Four corners: small or large d, short or long L", 45)
    ['Four corners: small or', 'large d, short or long L']
    """
    by_width = [wrap(text, width, break_on_hyphens=False) for width in range(1, letters + 1)]
    fewest = len(by_width[-1])
    return next(lines for lines in by_width if len(lines) == fewest)


def handle(label: str, **look: Any) -> Line2D:
    """Return the symbol of a line or a marker in a legend."""
    return Line2D([], [], label=label, markersize=4, **look)


def columns(rows: Sequence[Mapping[str, Any]], *names: str) -> Table:
    """Some columns of a table; None becomes NaN.

    >>> columns([{"x": 1, "value": 0.5}, {"x": 2, "value": None}], "x", "value").tolist()
    [[1.0, 2.0], [0.5, nan]]
    """
    return np.array([[row[name] for row in rows] for name in names], float)


def draw_line(axes: Axes, rows: Sequence[Mapping[str, Any]], **look: Any) -> None:
    """A line through rows of x and value, broken where there is none."""
    axes.plot(*columns(rows, "x", "value"), **look)


def small_legend(axes: Axes, handles: Sequence[Artist]) -> None:
    """A legend inside axes of the user's own."""
    axes.legend(handles=handles, fontsize=6, framealpha=0.8, handlelength=1.6)


def needed(axes: Sequence[Axes], count: int) -> Sequence[Axes]:
    """The axes that were given, if they are as many as a figure has panels."""
    if len(axes) != count:
        raise ProblemError(
            f"this figure has {count} panels, so it needs as many axes, not {len(axes)}; make "
            f"them with plt.subplots(1, {count})"
        )
    return axes
