"""The picture of a law: critical sizes along each axis, the law through them, and the collapse."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from recallscope.plotting.labels import accuracy_label, describe_common_fields
from recallscope.plotting.style import COLOURS, LETTERS, MARKERS, log_bars, new_figure, style_axes
from recallscope.problem import ProblemError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MEASURED, _LAW, _THEORY = COLOURS[0], COLOURS[1], "black"


def scaling_figure(scaling: Mapping[str, Any]) -> Figure:
    """One panel for each size that was varied, and one for the collapse if the runs are known.

    Args:
        scaling: as `Scaling.figure_data` gives it, with

            - `quantity`, `target`, `accuracy`: of the critical sizes;
            - `status`: of the fit (undetermined: there is none to draw), and `advice` on it;
            - `exponents`: by size, `value`, `low`, `high`, and `theory`, which may be None;
            - `goodness`: the `p_value` of the fit, and how many points are `reached` and `bounds`;
            - `panels`: for each `size` that was varied, `points` of `x`, critical `value`, its
              `log_sd`, `bound` (0: measured; 1, -1: it lies above, below) and `theory` or None,
              and the ends of the law's `line`, of `x` and `value`; none if there is no law;
            - `collapse`: None, or the rms about one curve against the size over that of the `law`,
              about one against the size itself (`raw`), and about each problem's own (`seeds`);
            - `collapse_points`: rows of the number of a `problem`, `ratio` and `accuracy`;
            - `points`: the rows of the problems, from which their `evaluations` and what they
              share is told.
    """
    panels, collapse = scaling["panels"], scaling["collapse"]
    if not any(panel["points"] for panel in panels):
        raise ProblemError("no critical size was reached or bounded, so there is nothing to draw")
    count = len(panels) + (collapse is not None)
    figure = new_figure(max(2.4 * count, 3.6), 3.5)
    axes = figure.subplots(1, count, squeeze=False)[0]
    for place, panel in enumerate(panels):
        _draw_panel(axes[place], scaling, panel)
    quantity = scaling["quantity"]
    axes[0].set_ylabel(f"critical {quantity}, {LETTERS[quantity]}*", fontsize=8)
    if collapse is not None:
        _draw_collapse(axes[-1], scaling)
    handles = [
        Line2D([], [], color=_MEASURED, marker="o", markersize=4, linestyle="", label="measured"),
        Line2D([], [], color=_LAW, linewidth=1.2, label="power law fitted"),
        Line2D(
            [],
            [],
            color=_THEORY,
            marker="x",
            markersize=4,
            linestyle="",
            label="closed forms, nothing fitted",
        ),
    ]
    if scaling["goodness"]["bounds"]:
        handles.append(
            Line2D([], [], color=_MEASURED, marker="^", markersize=4, linestyle="", label="bound")
        )
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), fontsize=7, frameon=False
    )
    figure.suptitle(_caption(scaling, round(40 * max(count, 1.5))), fontsize=7)
    return figure


def _draw_panel(axes: Axes, scaling: Mapping[str, Any], panel: Mapping[str, Any]) -> None:
    points, name = panel["points"], panel["size"]
    x, y, log_sd, bound = (
        np.array([point[key] for point in points]) for key in ("x", "value", "log_sd", "bound")
    )
    reached = bound == 0
    axes.errorbar(
        x[reached],
        y[reached],
        yerr=log_bars(y[reached], log_sd[reached]),
        fmt=MARKERS[0],
        color=_MEASURED,
        markersize=3.5,
        linewidth=0.8,
    )
    for side, marker in ((1, "^"), (-1, "v")):
        axes.plot(x[bound == side], y[bound == side], marker, color=_MEASURED, markersize=4)
    known = [point for point in points if point["theory"] is not None]
    if known:
        theory = [point["theory"] for point in known]
        axes.plot([point["x"] for point in known], theory, "x", color=_THEORY, markersize=4)
    title = f"{LETTERS[scaling['quantity']]}* against {LETTERS[name]}"
    if panel["line"]:
        ends = panel["line"]
        line = [end["value"] for end in ends]
        axes.plot([end["x"] for end in ends], line, color=_LAW, linewidth=1.2)
        power = scaling["exponents"][name]
        title += f"\nmeasured {power['value']:.2f} ({power['low']:.2f} to {power['high']:.2f})"
        title += "" if power["theory"] is None else f"\nclosed forms {power['theory']:.2f}"
    axes.set_title(title, fontsize=7)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel(f"{LETTERS[name]}, {name}", fontsize=8)
    style_axes(axes)


def _draw_collapse(axes: Axes, scaling: Mapping[str, Any]) -> None:
    for point in scaling["collapse_points"]:
        axes.plot(
            point["ratio"],
            point["accuracy"],
            marker=MARKERS[point["problem"] % len(MARKERS)],
            color=COLOURS[point["problem"] % len(COLOURS)],
            markersize=2.5,
            alpha=0.6,
            linestyle="",
        )
    letter, rms = LETTERS[scaling["quantity"]], scaling["collapse"]
    axes.axhline(scaling["target"], color="0.4", linewidth=0.6)
    axes.axvline(1, color="0.4", linewidth=0.6)
    axes.set_xscale("log")
    axes.set_ylim(-0.03, 1.03)
    axes.set_title(
        f"collapse, rms about one curve: {rms['law']:.3f}\nagainst {letter}: {rms['raw']:.3f}\n"
        f"about each problem's own curve: {rms['seeds']:.3f}",
        fontsize=7,
    )
    axes.set_xlabel(f"{letter}/{letter}* of the law", fontsize=8)
    axes.set_ylabel(f"{accuracy_label(scaling['accuracy'])} accuracy", fontsize=8)
    style_axes(axes)


def _caption(scaling: Mapping[str, Any], width: int) -> str:
    rows, goodness = scaling["points"], scaling["goodness"]
    runs = sum(int(row.get("evaluations") or 0) for row in rows)
    sentences = [
        f"{describe_common_fields(rows)}." if all(row.get("embedding") for row in rows) else "",
        f"{goodness['reached']} critical sizes of {accuracy_label(scaling['accuracy'])} accuracy "
        f"{scaling['target']:g}"
        + (f" from {runs} runs" if runs else "")
        + ", with 95 % intervals"
        + (f", and {goodness['bounds']} bounds." if goodness["bounds"] else "."),
        "Other sizes are brought to their mean by the law." if len(scaling["panels"]) > 1 else "",
        f"Fit: {scaling['advice']}",
    ]
    if scaling["status"] != "undetermined":
        sentences.append(f"Goodness of fit: p = {goodness['p_value']:.2g}.")
    return fill(" ".join(filter(None, sentences)), width)
