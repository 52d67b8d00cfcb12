"""The picture of a check: every noise, measured and predicted, along every size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator

from recallscope.plotting.style import COLOURS, MARKERS, new_figure, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STAGES = {"one_step": "one step", "lock": "lock", "recall": "recall"}
_VERDICTS = ("fail", "unclear", "pass", "negligible")  # the worst first
_COLUMNS = 4
_LEGEND = "size that is changed, from half to twice the problem's"


def check_figure(report: Mapping[str, Any]) -> Figure:
    """One panel for each noise: points with standard errors are measured, lines are predicted.

    Args:
        report: as `CheckReport.to_dict` or `recallscope check --json` gives it, with

            - `problem`: its fields, and `seeds`, how many instances there were;
            - `failed`: the `stage` and `term` of every noise that failed;
            - `comparisons`: rows of `stage` (one_step, lock or recall), `term`, `size` (the name of
              the one that is changed), its `values`, and at each of them what was `measured`, its
              `errors` and what was `predicted`; `verdict` is pass, fail, unclear or negligible.
    """
    panels: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for comparison in report["comparisons"]:
        panels.setdefault((comparison["stage"], comparison["term"]), []).append(comparison)
    ordered = sorted(panels, key=lambda panel: list(_STAGES).index(panel[0]))
    sizes = list(dict.fromkeys(comparison["size"] for comparison in report["comparisons"]))
    rows = math.ceil(len(ordered) / _COLUMNS)
    figure = new_figure(7.2, 1.75 * rows + 0.9)
    axes = figure.subplots(rows, _COLUMNS, squeeze=False)
    for panel, each in zip(ordered, axes.flat, strict=False):
        _draw(each, panels[panel], sizes)
    for unused in axes.flat[len(ordered) :]:
        unused.set_axis_off()
    figure.supylabel("variance or signal", fontsize=8)
    figure.suptitle(_caption(report), fontsize=7)
    handles = [
        Line2D([], [], color=colour, marker=marker, markersize=4, label=size)
        for size, colour, marker in zip(sizes, COLOURS, MARKERS, strict=False)
    ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=len(sizes),
        fontsize=7,
        title=_LEGEND,
        title_fontsize=7,
    )
    return figure


def _draw(axes: Axes, comparisons: Sequence[Mapping[str, Any]], sizes: Sequence[str]) -> None:
    for comparison in comparisons:
        place = sizes.index(comparison["size"])
        colour, marker = COLOURS[place], MARKERS[place]
        values = np.array(comparison["values"])
        x = values / values[len(values) // 2]
        axes.plot(x, comparison["predicted"], color=colour, linewidth=1)
        measured, errors = np.array(comparison["measured"]), np.array(comparison["errors"])
        shown = measured > 0  # an estimate of next to nothing may come out below it
        # Bars that would reach below zero end a decade down.
        down = np.minimum(errors, 0.9 * np.maximum(measured, 0))
        axes.errorbar(
            # sizes side by side, not on top of each other
            x[shown] * 1.02 ** (place - 2),
            measured[shown],
            yerr=np.array([down, errors])[:, shown],
            fmt=marker,
            color=colour,
            markersize=3,
            linewidth=0.8,
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=6))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xticks([0.5, 1, 2], ["½", "1", "2"])
    worst = min((comparison["verdict"] for comparison in comparisons), key=_VERDICTS.index)
    stage = _STAGES[comparisons[0]["stage"]]
    name = comparisons[0]["term"].replace("_", " ")
    axes.set_title(
        f"{stage}: {name}\n{worst}",
        fontsize=7,
        color=COLOURS[1] if worst == "fail" else "black",
    )
    style_axes(axes)


def _caption(report: Mapping[str, Any]) -> str:
    p = report["problem"]
    model = "attention alone" if p["width"] is None else f"{p['activation']} MLP, m={p['width']}"
    mark = ", trigger in values" if p["trigger_in_values"] else ""
    failed = ", ".join(f"{noise['stage']} {noise['term']}" for noise in report["failed"])
    verdict = f"failed: {failed}" if failed else "passed"
    return (
        f"Check of V={p['vocab']}, N={p['samples']:g}, d={p['dim']}, L={p['length']}, {model}, "
        f"{p['embedding']}{mark}\n{verdict}\n"
        f"Points: mean over {report['seeds']} instances with standard error. "
        "Lines: closed forms, nothing fitted.\n"
        "Variances in units of the squared signal; of locking, all in units of 1/(V L²)."
    )
