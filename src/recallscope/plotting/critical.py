"""The picture of a critical search: the curve as measured, and where it crosses the target."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from recallscope.measurement.critical import CriticalSize
from recallscope.plotting.labels import in_common, kind_of
from recallscope.plotting.style import COLOURS, LETTERS, MARKERS, new_figure, tidy
from recallscope.theory.capacity import accuracies_along
from recallscope.theory.problem_arrays import has_closed_form

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def critical_figure(found: CriticalSize) -> Figure:
    """Means with intervals at every size that was run, the crossing, and what theory says."""
    figure = new_figure(4.6, 3.9)
    axes = figure.subplots()
    size = np.array([point["size"] for point in found.curve], dtype=float)
    mean = np.array([point["accuracy"] for point in found.curve])
    ends = np.array([[point["low"], point["high"]] for point in found.curve]).reshape(-1, 2)
    runs = np.array([point["runs"] for point in found.curve])
    if found.low is not None and found.high is not None:
        axes.axvspan(found.low, found.high, color=COLOURS[1], alpha=0.2, linewidth=0)
    if found.value is not None:
        axes.axvline(
            found.value,
            color=COLOURS[1],
            linewidth=1.2,
            label=f"critical: {found.value} ({_end(found.low)} to {_end(found.high)})",
        )
    if len(size):
        axes.errorbar(
            size,
            mean,
            yerr=np.abs(ends.T - mean),
            fmt="none",
            ecolor=COLOURS[0],
            elinewidth=0.6,
            alpha=0.35,  # long bars are those of single runs
        )
        axes.scatter(
            size,
            mean,
            s=6 + 6 * runs,
            color=COLOURS[0],
            marker=MARKERS[0],
            zorder=3,
            label="measured mean",
        )
    if len(size) and has_closed_form(found.problem):
        grid = np.geomspace(size.min() / 1.2, size.max() * 1.2, 200)
        predicted = "none" if found.theory is None else str(found.theory)
        axes.plot(
            grid,
            getattr(accuracies_along(found.problem, found.quantity, grid), found.accuracy),
            color="black",
            linestyle="--",
            linewidth=1,
            label=f"closed forms, nothing fitted: {predicted}",
        )
    axes.axhline(found.target, color="0.4", linewidth=0.6)
    axes.set_xscale("log")
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel(f"{LETTERS[found.quantity]}, {found.quantity}", fontsize=8)
    axes.set_ylabel(f"{kind_of(found.accuracy)} accuracy", fontsize=8)
    tidy(axes)
    figure.legend(loc="outside lower center", fontsize=7, frameon=False, ncols=1)
    figure.suptitle(_caption(found), fontsize=7)
    return figure


def _end(size: int | None) -> str:
    return "out of range" if size is None else str(size)


def _caption(found: CriticalSize) -> str:
    reached = found.evaluations - found.failures - found.infeasible
    tests = {point["tests"] // point["runs"] for point in found.curve}
    of_tests = f" of {min(tests)} tests each" if len(tests) == 1 else ""
    sentences = [
        f"{in_common([found.to_dict()['problem']])}.",
        f"{reached} runs{of_tests}, every one with a seed of its own; larger dots are means of "
        "more. Bars: 95 % intervals of the mean over seeds.",
        f"Band: 95 % interval of the {found.quantity} at which the mean crosses {found.target:g}."
        if found.value is not None
        else f"Not found: {found.reason}.",
    ]
    if found.failures or found.infeasible:
        sentences.append(
            f"{found.failures} runs failed and {found.infeasible} were infeasible; left out."
        )
    return fill(" ".join(sentences), 84)
