"""How all figures look: readable in print, for the colour-blind, and without a display."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from recallscope.common.arrays import Column, Table
from recallscope.common.csv_files import check_output
from recallscope.common.new_files import write_whole
from recallscope.plot.labels import axis_label
from recallscope.plot.ticks import set_ticks

# Okabe and Ito's colour-blind safe colours, each with a separate marker for grey print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#767676"  # of references; seen on white and on black
NOISES = {
    "interference": (COLOURS[0], MARKERS[0]),
    "mean_bias": (COLOURS[1], MARKERS[1]),
    "mlp_noise": (COLOURS[2], MARKERS[2]),
    "sampling": (COLOURS[3], MARKERS[3]),
    "gradient_noise": (COLOURS[4], MARKERS[4]),
    "kernel_interference": (COLOURS[5], MARKERS[5]),
    "cross_talk": (GREY, MARKERS[6]),
}
"""The colour and the marker of each noise, in every figure and in the explorer."""
COLOUR_MAP = "cividis"  # of accuracies: even in grey, and for all eyes
FORMATS = (".pdf", ".png", ".svg")
_UNDATED: dict[str, dict[str, None]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}


def new_figure(width: float, height: float) -> Figure:
    """A new figure, in inches, without global state or a window."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def look(place: int) -> dict[str, Any]:
    """Of the points at a place among several: a colour and a marker."""
    colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
    return {"color": colour, "marker": marker, "linestyle": ""}


def finish(axes: Axes, x: str, y: str) -> None:
    """Axes of round numbers, with what they are."""
    axes.set_xlabel(x, fontsize=8)
    axes.set_ylabel(y, fontsize=8)
    for axis in (axes.xaxis, axes.yaxis):
        set_ticks(axis)
    style_axes(axes)


def style_axes(axes: Axes) -> None:
    """Small text, no box, a faint grid."""
    axes.tick_params(labelsize=7)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(True, which="major", linewidth=0.4, alpha=0.4)


def label_size_axes(axes: Axes, x: str, y: str) -> None:
    """Axes of two sizes in powers of two, each with its letter and its name."""
    for axis, set_scale in ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)):
        if axis.get_data_interval()[0] > 0:  # a field may be 0 too
            set_scale("log", base=2)
    axes.set_xlabel(axis_label(x), fontsize=8)
    axes.set_ylabel(axis_label(y), fontsize=8)
    axes.tick_params(labelsize=7)
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            set_ticks(axis, base=2)


def log_bars(value: Column, log_sd: Column) -> Table:
    """How far 95 % intervals reach down and up, from errors of the logarithms of values."""
    reach = np.exp(1.959964 * np.asarray(log_sd))
    bars: Table = np.abs(np.array([value / reach, value * reach]) - value)
    return bars


def check_path(path: str | Path) -> Path:
    """The path of a figure to be written, or an error before anything is computed."""
    return check_output(path, "figure", FORMATS)


def draw(figure: Figure, kind: str) -> bytes:
    """Draw a figure as pdf, png or svg, the same to the bit whenever it is drawn."""
    # TrueType in a PDF, as publishers ask for; text in an SVG stays text.
    file = io.BytesIO()
    fonts = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none"}
    with rc_context({"svg.hashsalt": "recallscope"}), rc_context(fonts):  # type: ignore[arg-type]
        figure.savefig(file, format=kind, dpi=200, metadata=_UNDATED.get(kind))
    return file.getvalue()


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure atomically: to a temporary file, which is then moved to the path."""
    path = check_path(path)
    write_whole(path, "figure", draw(figure, path.suffix[1:].lower()))


def write_caption(caption: str, figure: Path) -> None:
    """Write the caption of a figure into a text file next to it."""
    write_whole(figure.with_suffix(".caption.txt"), "caption", f"{caption}\n")
