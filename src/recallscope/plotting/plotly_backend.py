"""A picture in a browser: plotly's figures as plain data, one for each panel.

One figure for each panel lets a page set them side by side where there is room, and one below the
other on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from recallscope.plotting.geometry import GREY, NOTHING, Drawing, Mark, place_marks
from recallscope.plotting.panels import Kind, Picture

if TYPE_CHECKING:
    from recallscope.plotting.geometry import DrawnAxis

_FONT = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
_INK, _FAINT = "#333333", "#e6e6e6"
_SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x")
_LINES: dict[Kind, dict[str, Any]] = {
    Kind.THEORY: {"width": 2, "dash": "solid"},
    Kind.REFERENCE: {"width": 1.2, "dash": "solid"},
}
_EMPTY = {
    **{"text": NOTHING, "showarrow": False, "font": {"color": GREY}},
    **{"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5},
}
_PLOT_HEIGHT = 300
_LEGEND_LINE = 23
_LEGEND_WIDTH = 38  # characters, on a phone


def plotly_figure(picture: Picture) -> list[dict[str, Any]]:
    """The data and layout of one figure for each panel, fit for JSON and for `Plotly.newPlot`.

    >>> from recallscope.plotting.panels import Panel, Series
    >>> series = Series(label="measured", kind=Kind.MEASURED, x=[8, 16], y=[0.2, 0.4])
    >>> panel = Panel(title="Recall", x="d", y="accuracy", series=[series], log_x=True)
    >>> figure, = plotly_figure(Picture(caption="Recall rises with d.", panels=[panel]))
    >>> figure["data"][0]["y"], figure["layout"]["xaxis"]["ticktext"]
    ([0.2, 0.4], ['8', '16'])
    """
    drawings = [place_marks(panel) for panel in picture.panels]
    legend = max(map(_legend_lines, drawings), default=0)  # of one height, or axes do not line up
    return [_figure(drawing, _PLOT_HEIGHT + _LEGEND_LINE * legend) for drawing in drawings]


def _legend_lines(drawing: Drawing) -> int:
    return sum(len(wrap(mark.label, _LEGEND_WIDTH)) for mark in drawing.marks)


def _figure(drawing: Drawing, height: int) -> dict[str, Any]:
    return {
        "data": [trace for mark in drawing.marks for trace in _traces(mark)],
        "layout": {
            "autosize": True,
            "height": height,
            "margin": {"l": 8, "r": 12, "t": 8, "b": 8, "pad": 2},
            "font": {"family": _FONT, "size": 12, "color": _INK},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "hovermode": "closest",
            "hoverlabel": {
                **{"bgcolor": "#ffffff", "align": "left"},
                "font": {"family": _FONT, "color": _INK},
            },
            "dragmode": False,  # a finger on a figure scrolls the page
            "showlegend": True,
            "legend": {
                **{"orientation": "h", "x": 0, "xanchor": "left", "itemwidth": 30},
                **{"yref": "container", "y": 0, "yanchor": "bottom", "font": {"size": 12}},
            },
            "xaxis": _axis(drawing.x, 38),
            "yaxis": _axis(drawing.y, 30),
            "annotations": [] if drawing.marks else [_EMPTY],
        },
    }


def _axis(axis: DrawnAxis, width: int) -> dict[str, Any]:
    low, high = (math.log10(end) if axis.log else end for end in (axis.low, axis.high))
    shown: dict[str, Any] = {
        "title": {"text": _words(axis.title, width), "standoff": 8},
        "type": "log" if axis.log else "linear",
        "range": [low, high],
        "automargin": True,
        "showgrid": axis.names is None,
        "gridcolor": _FAINT,
        "zeroline": False,
        "showline": True,
        "linecolor": "#999999",
        "ticks": "outside",
        "tickcolor": "#999999",
        "ticklen": 4,
        "ticklabeloverflow": "allow",
        "autotickangles": [0, -35, -90],  # aslant, names end at their tick
    }
    if axis.ticks is not None:
        labels = [_words(label, 16) for label in axis.labels]
        return {**shown, "tickvals": list(axis.ticks), "ticktext": labels}
    return {**shown, "nticks": 6}


def _traces(mark: Mark) -> list[dict[str, Any]]:
    common: dict[str, Any] = {
        "type": "scatter",
        "x": _numbers(mark.x),
        "y": _numbers(mark.y),
        "name": _words(mark.label, _LEGEND_WIDTH),
        "legendgroup": mark.label,
        "text": ["<br>".join(_words(line, 40) for line in said.split("\n")) for said in mark.said],
        "hovertemplate": "%{fullData.name}<br>%{text}<extra></extra>",
        "cliponaxis": False,
    }
    if mark.kind is not Kind.MEASURED:
        line = {"color": mark.colour, **_LINES[mark.kind]}
        alone = len(mark.y) == 1  # a line of one point would not be seen
        shape = {"mode": "markers", "marker": _dash(mark)} if alone else {"mode": "lines"}
        return [*_band(mark), {**common, **shape, "line": line}]
    marker = {"color": mark.colour, "size": 7, "symbol": _SYMBOLS[mark.marker]}
    points = {**common, "mode": "markers", "marker": marker}
    if mark.has_bars:
        points["error_y"] = {
            **{"type": "data", "symmetric": False, "color": mark.colour},
            **{"thickness": 1.2, "width": 3},
            "array": _numbers(mark.high - mark.y),
            "arrayminus": _numbers(mark.y - mark.low),
        }
    return [points, *_arrows(mark)]


def _dash(mark: Mark) -> dict[str, Any]:
    line = {"width": 2, "color": mark.colour}
    return {"symbol": "line-ew-open", "size": 16, "color": mark.colour, "line": line}


def _band(mark: Mark) -> list[dict[str, Any]]:
    """A line's bars, as the area between their ends."""
    if not mark.has_bars:
        return []
    x: list[float | None] = []
    y: list[float | None] = []
    for piece in mark.pieces():
        x += [*_numbers(mark.x[piece]), *_numbers(mark.x[piece][::-1]), None]
        y += [*_numbers(mark.low[piece]), *_numbers(mark.high[piece][::-1]), None]
    return [
        {
            **{"type": "scatter", "mode": "lines", "x": x, "y": y, "line": {"width": 0}},
            **{"fill": "toself", "fillcolor": mark.colour, "opacity": 0.15},
            **{"legendgroup": mark.label, "showlegend": False, "hoverinfo": "skip"},
        }
    ]


def _arrows(mark: Mark) -> list[dict[str, Any]]:
    """Where bars go on beyond the axes."""
    x = [*_numbers(mark.x[mark.up]), *_numbers(mark.x[mark.down])]
    if not x:
        return []
    y = [*_numbers(mark.high[mark.up]), *_numbers(mark.low[mark.down])]
    ups = int(mark.up.sum())
    symbols = ["triangle-up"] * ups + ["triangle-down"] * (len(x) - ups)
    return [
        {
            **{"type": "scatter", "mode": "markers", "x": x, "y": y},
            "marker": {"color": mark.colour, "size": 8, "symbol": symbols},
            **{"legendgroup": mark.label, "showlegend": False, "hoverinfo": "skip"},
            "cliponaxis": False,
        }
    ]


def _numbers(values: Iterable[float]) -> list[float | None]:
    """JSON knows no NaN: a gap is None."""
    return [float(value) if np.isfinite(value) else None for value in values]


def _words(text: str, width: int) -> str:
    """Text as it is, broken into lines: plotly reads some HTML."""
    return "<br>".join(escape(line, quote=False) for line in wrap(text, width))
