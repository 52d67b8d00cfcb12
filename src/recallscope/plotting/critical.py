"""The picture of a critical search: the curve as measured, and where it crosses the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recallscope.plotting.layout import columns, explain, needed, small_legend
from recallscope.plotting.style import COLOURS, finish, new_figure
from recallscope.results.labels import accuracy_label, axis_label, describe_common_fields


def critical_figure(
    found: Mapping[str, Any], *, width: float | None = None, caption: bool = True
) -> Figure:
    """Means with intervals near the crossing, below it over all sizes, and what theory says.

    Args:
        found: as `CriticalSize.figure_data` or `recallscope critical --json` gives it, with

            - `problem`: its fields, of which `embedding` must be there;
            - `quantity`, `target`, `accuracy`: what was searched for;
            - `value`, `low`, `high`: the crossing and its ends, None if not known, and `reason`,
              why there is no value;
            - `curve`: rows of `size`, `accuracy`, `low`, `high`, `runs` and `tests`;
            - `evaluations`, `failures`, `infeasible`: how many runs there were, and were lost;
            - `theory`: the size by closed forms, or None;
            - `theory_curve`: rows of `size` and `accuracy`; may be left out.
        width: of the whole figure, in inches.
        caption: whether the figure carries its caption.
    """
    figure = new_figure(width or 4.6, 3.6)
    near, whole = figure.subplots(2, height_ratios=[2.2, 1])
    handles = _draw(near, found)
    _draw(whole, found)
    _zoom(near, whole, found)
    near.set_title(fill(_result(found), 46), fontsize=8)
    explain(figure, handles, critical_caption(found) if caption else "")
    return figure


def critical_panels(found: Mapping[str, Any]) -> int:
    """How many axes `draw_critical` needs."""
    return 1


def draw_critical(axes: Sequence[Axes], found: Mapping[str, Any]) -> None:
    """Draw on your axes; `found` is what `critical_figure` takes."""
    (one,) = needed(axes, critical_panels(found))
    small_legend(one, _draw(one, found))


def critical_caption(found: Mapping[str, Any]) -> str:
    """Return the caption: what is seen, in a paragraph."""
    failures, infeasible = found["failures"], found["infeasible"]
    reached = found["evaluations"] - failures - infeasible
    tests = {point["tests"] // point["runs"] for point in found["curve"]}
    of_tests = f" of {min(tests)} tests each" if len(tests) == 1 else ""
    sentences = [
        f"{describe_common_fields([found['problem'] | {'own': found.get('own')}])}.",
        f"{reached} runs{of_tests}, each with a separate seed; larger dots are means of "
        "more. Bars: 95 % intervals of the mean over seeds.",
        _found(found),
    ]
    if found.get("ended"):
        sentences.append(f"Of these trainings {found['ended']}.")
    if failures or infeasible:
        sentences.append(f"{failures} runs failed and {infeasible} were infeasible; left out.")
    return " ".join(sentences)


def _found(found: Mapping[str, Any]) -> str:
    if found["value"] is None:
        return f"Not found: {found['reason']}."
    passing = found.get("seeds_passing")
    what = f"{100 * passing:g} % of seeds reach" if passing else "the mean crosses"
    line = f"{found['quantity']} at which {what} {found['target']:g}"
    if found["low"] is None or found["high"] is None:
        return f"Line: the {line}; an end of its interval is outside of the range."
    return f"Band: 95 % interval of the {line}."


def _result(found: Mapping[str, Any]) -> str:
    if found["value"] is None:
        return "not found"
    interval = f"{found['value']} ({_end(found['low'])} to {_end(found['high'])})"
    predicted = "" if found["theory"] is None else f"; predicted: {found['theory']}"
    reached = f"{accuracy_label(found['accuracy'])} {found['target']:g}"
    return f"{reached} at {interval} {found['quantity']}{predicted}"


def _zoom(near: Axes, whole: Axes, found: Mapping[str, Any]) -> None:
    """Look at sizes within a factor of two of the crossing, and mark them among all."""
    if found["value"] is None:
        return
    first, last = found["value"] / 2, found["value"] * 2
    target, rows = found["target"], [*found["curve"], *(found.get("theory_curve") or [])]
    seen = [abs(row["accuracy"] - target) for row in rows if first <= row["size"] <= last]
    reach = max([0.05, *(1.5 * off for off in seen)])
    near.set_xlim(first, last)
    near.set_ylim(target - reach, target + reach)
    whole.axvspan(first, last, color="0.9", zorder=0)


def _draw(axes: Axes, found: Mapping[str, Any]) -> list[Artist]:
    """Returns what the legend is to name."""
    value, low, high = found["value"], found["low"], found["high"]
    curve, theory_curve = found["curve"], found.get("theory_curve")
    if low is not None and high is not None:
        axes.axvspan(low, high, color=COLOURS[1], alpha=0.2, linewidth=0)
    if value is not None:
        axes.axvline(value, color=COLOURS[1], linewidth=1.2, label="critical size")
    if curve:
        size, mean, runs = columns(curve, "size", "accuracy", "runs")
        bars = np.abs(columns(curve, "low", "high") - mean)
        axes.errorbar(
            size,
            mean,
            yerr=bars,
            fmt="none",
            ecolor=COLOURS[0],
            elinewidth=0.6,
            alpha=0.35,  # long bars are those of single runs
        )
        axes.scatter(size, mean, 6 + 6 * runs, COLOURS[0], zorder=3, label="measured mean")
    if theory_curve:
        line = columns(theory_curve, "size", "accuracy")
        axes.plot(*line, "--", color="black", linewidth=1, label="predicted")
    target = found["target"]
    axes.axhline(target, color="0.4", linewidth=0.6, label=f"target: {target:g}")
    axes.set_xscale("log")
    axes.set_ylim(-0.03, 1.03)
    finish(axes, axis_label(found["quantity"]), f"{accuracy_label(found['accuracy'])} accuracy")
    return list(axes.get_legend_handles_labels()[0])


def _end(size: int | None) -> str:
    return "out of range" if size is None else str(size)
