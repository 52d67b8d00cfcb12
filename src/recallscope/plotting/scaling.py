"""The picture of a law: critical sizes along each axis, the law through them, and the collapse."""

from __future__ import annotations

import math
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from recallscope.measurement.scaling import Scaling
from recallscope.plotting.labels import in_common, kind_of
from recallscope.plotting.style import COLOURS, LETTERS, MARKERS, log_bars, new_figure, tidy
from recallscope.problem import ProblemError
from recallscope.statistics.power_law import FitStatus

if TYPE_CHECKING:
    from jaxtyping import Float
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MEASURED, _LAW, _THEORY = COLOURS[0], COLOURS[1], "black"


def scaling_figure(scaling: Scaling) -> Figure:
    """One panel for each size that was varied, and one for the collapse if the runs are known."""
    names = scaling.points.names
    if not len(scaling.points.y):
        raise ProblemError("no critical size was reached or bounded, so there is nothing to draw")
    panels = len(names) + (scaling.collapse is not None)
    figure = new_figure(max(2.4 * panels, 3.6), 3.5)
    axes = figure.subplots(1, panels, squeeze=False)[0]
    fitted = scaling.law.status is not FitStatus.UNDETERMINED
    for place, name in enumerate(names):
        _draw_axis(axes[place], scaling, place, name, fitted)
    letter = LETTERS[scaling.quantity]
    axes[0].set_ylabel(f"critical {scaling.quantity}, {letter}*", fontsize=8)
    if scaling.collapse is not None:
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
    if scaling.law.bounds:
        handles.append(
            Line2D([], [], color=_MEASURED, marker="^", markersize=4, linestyle="", label="bound")
        )
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), fontsize=7, frameon=False
    )
    figure.suptitle(_caption(scaling, round(40 * max(panels, 1.5))), fontsize=7)
    return figure


def _draw_axis(axes: Axes, scaling: Scaling, place: int, name: str, fitted: bool) -> None:
    points, law = scaling.points, scaling.law
    x = np.exp(points.x[:, place])
    moved = _to_the_centre(scaling, place) if fitted else np.zeros(len(points.y))
    y = np.exp(points.y - moved)
    reached = points.bound == 0
    axes.errorbar(
        x[reached],
        y[reached],
        yerr=log_bars(y[reached], points.error[reached]),
        fmt=MARKERS[0],
        color=_MEASURED,
        markersize=3.5,
        linewidth=0.8,
    )
    for side, marker in ((1, "^"), (-1, "v")):
        axes.plot(
            x[points.bound == side], y[points.bound == side], marker, color=_MEASURED, markersize=4
        )
    known = [
        (float(row[name]), float(row["theory"]), shift)
        for row, shift in zip(_evidence(scaling), moved, strict=True)
        if row.get("theory")
    ]
    if known:
        at, theory, shift = np.array(known).T
        axes.plot(at, theory / np.exp(shift), "x", color=_THEORY, markersize=4)
    title = f"{LETTERS[scaling.quantity]}* against {LETTERS[name]}"
    if fitted:
        centre = points.x[reached].mean(axis=0)
        ends = np.array([x.min(), x.max()])
        power = law.exponents[name]
        level = law.predict(dict(zip(points.names, np.exp(centre), strict=True)))
        line = np.exp(level + power.value * (np.log(ends) - centre[place]))
        axes.plot(ends, line, color=_LAW, linewidth=1.2)
        title += f"\nmeasured {power.value:.2f} ({power.low:.2f} to {power.high:.2f})"
        theory_power = scaling.theory.get(name)
        title += "" if theory_power is None else f"\nclosed forms {theory_power:.2f}"
    axes.set_title(title, fontsize=7)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel(f"{LETTERS[name]}, {name}", fontsize=8)
    tidy(axes)


def _evidence(scaling: Scaling) -> list[dict[str, Any]]:
    """The rows that became points: failed and infeasible ones did not."""
    return [row for row in scaling.rows if row["status"] in ("ok", "not_reached")]


def _to_the_centre(scaling: Scaling, place: int) -> Float[np.ndarray, " points"]:
    """What the law takes off each point to bring all other sizes to their mean."""
    points, law = scaling.points, scaling.law
    powers = np.array([law.exponents[name].value for name in points.names])
    powers[place] = 0
    centre = points.x[points.bound == 0].mean(axis=0)
    shift: Float[np.ndarray, " points"] = (points.x - centre) @ powers
    return shift


def _draw_collapse(axes: Axes, scaling: Scaling) -> None:
    critical = [scaling.law.predict(row) for row in scaling.rows]
    for point in scaling.curve:
        axes.plot(
            math.exp(point.log_size - critical[point.problem]),
            point.accuracy,
            marker=MARKERS[point.problem % len(MARKERS)],
            color=COLOURS[point.problem % len(COLOURS)],
            markersize=2.5,
            alpha=0.6,
            linestyle="",
        )
    letter = LETTERS[scaling.quantity]
    found = scaling.collapse
    assert found is not None
    axes.axhline(scaling.target, color="0.4", linewidth=0.6)
    axes.axvline(1, color="0.4", linewidth=0.6)
    axes.set_xscale("log")
    axes.set_ylim(-0.03, 1.03)
    axes.set_title(
        f"one curve? rms about it {found.law:.3f}\n{found.raw:.3f} against {letter} itself\n"
        f"{found.seeds:.3f} about each its own",
        fontsize=7,
    )
    axes.set_xlabel(f"{letter}/{letter}* of the law", fontsize=8)
    axes.set_ylabel(f"{kind_of(scaling.accuracy)} accuracy", fontsize=8)
    tidy(axes)


def _caption(scaling: Scaling, width: int) -> str:
    law = scaling.law
    runs = sum(int(row.get("evaluations") or 0) for row in scaling.rows)
    sentences = [
        f"{in_common(scaling.rows)}." if all(row.get("embedding") for row in scaling.rows) else "",
        f"{law.reached} critical sizes of {kind_of(scaling.accuracy)} accuracy "
        f"{scaling.target:g}"
        + (f" from {runs} runs" if runs else "")
        + ", with 95 % intervals"
        + (f", and {law.bounds} bounds." if law.bounds else "."),
        "Other sizes are brought to their mean by the law."
        if len(scaling.points.names) > 1
        else "",
        f"Fit: {law.status.advice}",
    ]
    if law.status is not FitStatus.UNDETERMINED:
        sentences.append(f"Chance of points this far off: {law.chance:.2g}.")
    return fill(" ".join(filter(None, sentences)), width)
