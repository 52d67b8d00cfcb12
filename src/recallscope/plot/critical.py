"""The picture of a critical search: the curve as measured, and where it crosses the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recallscope.plot.labels import accuracy_label, axis_label, describe_common_fields
from recallscope.plot.layout import columns, explain, needed, small_legend
from recallscope.plot.style import COLOURS, finish, new_figure


def critical_figure(
    critical_size: Mapping[str, Any], *, width: float | None = None, caption: bool = True
) -> Figure:
    """Means with intervals near the crossing, below it over all sizes, and what theory says.

    Args:
        critical_size: as `CriticalSize.figure_data` or `recallscope critical --json` gives it, with

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
    handles = _draw(near, critical_size)
    _draw(whole, critical_size)
    _zoom(near, whole, critical_size)
    near.set_title(fill(_result(critical_size), 46), fontsize=8)
    explain(figure, handles, critical_caption(critical_size) if caption else "")
    return figure


def critical_panels(critical_size: Mapping[str, Any]) -> int:
    """How many axes `draw_critical` needs."""
    return 1


def draw_critical(axes: Sequence[Axes], critical_size: Mapping[str, Any]) -> None:
    """Draw on your axes; `critical_size` is what `critical_figure` takes."""
    (one,) = needed(axes, critical_panels(critical_size))
    small_legend(one, _draw(one, critical_size))


def critical_caption(critical_size: Mapping[str, Any]) -> str:
    """Return the caption: what is seen, in a paragraph."""
    failures, infeasible = critical_size["failures"], critical_size["infeasible"]
    reached = critical_size["evaluations"] - failures - infeasible
    tests = {point["tests"] // point["runs"] for point in critical_size["curve"]}
    of_tests = f" of {min(tests)} tests each" if len(tests) == 1 else ""
    fields = critical_size["problem"] | {"own": critical_size.get("own")}
    sentences = [
        f"{describe_common_fields([fields])}.",
        f"{reached} runs{of_tests}, each with a separate seed; larger dots are means of "
        "more. Bars: 95 % intervals of the mean over seeds.",
        _band_in_words(critical_size),
    ]
    if critical_size.get("ended"):
        sentences.append(f"Of these trainings {critical_size['ended']}.")
    if failures or infeasible:
        sentences.append(f"{failures} runs failed and {infeasible} were infeasible; left out.")
    return " ".join(sentences)


def _band_in_words(critical_size: Mapping[str, Any]) -> str:
    if critical_size["value"] is None:
        return f"Not found: {critical_size['reason']}."
    passing = critical_size.get("seeds_passing")
    what = f"{100 * passing:g} % of seeds reach" if passing else "the mean crosses"
    line = f"{critical_size['quantity']} at which {what} {critical_size['target']:g}"
    if critical_size["low"] is None or critical_size["high"] is None:
        return f"Line: the {line}; an end of its interval is outside of the range."
    return f"Band: 95 % interval of the {line}."


def _result(critical_size: Mapping[str, Any]) -> str:
    if critical_size["value"] is None:
        return "not found"
    interval = (
        f"{critical_size['value']} ({_end(critical_size['low'])} to {_end(critical_size['high'])})"
    )
    predicted = "" if critical_size["theory"] is None else f"; predicted: {critical_size['theory']}"
    reached = f"{accuracy_label(critical_size['accuracy'])} {critical_size['target']:g}"
    return f"{reached} at {interval} {critical_size['quantity']}{predicted}"


def _zoom(near: Axes, whole: Axes, critical_size: Mapping[str, Any]) -> None:
    """Look at sizes within a factor of two of the crossing, and mark them among all."""
    if critical_size["value"] is None:
        return
    first, last = critical_size["value"] / 2, critical_size["value"] * 2
    target = critical_size["target"]
    rows = [*critical_size["curve"], *(critical_size.get("theory_curve") or [])]
    seen = [abs(row["accuracy"] - target) for row in rows if first <= row["size"] <= last]
    reach = max([0.05, *(1.5 * off for off in seen)])
    near.set_xlim(first, last)
    near.set_ylim(target - reach, target + reach)
    whole.axvspan(first, last, color="0.9", zorder=0)


def _draw(axes: Axes, critical_size: Mapping[str, Any]) -> list[Artist]:
    """Returns what the legend is to name."""
    value, low, high = critical_size["value"], critical_size["low"], critical_size["high"]
    curve, theory_curve = critical_size["curve"], critical_size.get("theory_curve")
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
    target = critical_size["target"]
    axes.axhline(target, color="0.4", linewidth=0.6, label=f"target: {target:g}")
    axes.set_xscale("log")
    axes.set_ylim(-0.03, 1.03)
    finish(
        axes,
        axis_label(critical_size["quantity"]),
        f"{accuracy_label(critical_size['accuracy'])} accuracy",
    )
    return list(axes.get_legend_handles_labels()[0])


def _end(size: int | None) -> str:
    return "out of range" if size is None else str(size)
