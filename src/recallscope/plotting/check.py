"""The picture of a check: every noise, measured and predicted, along every size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from recallscope.common.grouping import grouped_by
from recallscope.plotting.layout import explain, handle, needed, panel_grid, small_legend
from recallscope.plotting.style import COLOURS, look, style_axes
from recallscope.plotting.ticks import set_ticks

_STAGES = {"one_step": "one step", "lock": "lock", "recall": "recall"}
_VERDICTS = ("fail", "unclear", "pass", "negligible")  # the worst first


def check_figure(
    report: Mapping[str, Any], *, width: float | None = None, caption: bool = True
) -> Figure:
    """One panel for each noise: points with standard errors are measured, lines are predicted.

    Args:
        report: as `CheckReport.to_dict` or `recallscope check --json` gives it, with

            - `problem`: its fields, and `seeds`, how many instances there were;
            - `failed`: the `stage` and `term` of every noise that failed;
            - `comparisons`: rows of `stage` (one_step, lock or recall), `term`, `size` (the name of
              the one that is changed), its `values`, and at each of them what was `measured`, its
              `errors` and what was `predicted`; `verdict` is pass, fail, unclear or negligible.
        width: of the whole figure, in inches.
        caption: whether the figure carries its caption.
    """
    figure, axes = panel_grid(check_panels(report), width or 6.75, 1.6, narrowest=1.6)
    _draw(axes, report)
    figure.supylabel("variance or signal", fontsize=8)
    explain(figure, _handles(report), check_caption(report) if caption else "")
    return figure


def check_panels(report: Mapping[str, Any]) -> int:
    """How many axes `draw_check` needs: one for each noise of each stage."""
    return len(_by_noise(report))


def draw_check(axes: Sequence[Axes], report: Mapping[str, Any]) -> None:
    """Draw on your axes; `report` is what `check_figure` takes."""
    _draw(needed(axes, check_panels(report)), report)
    small_legend(axes[0], _handles(report))


def check_caption(report: Mapping[str, Any]) -> str:
    """What is seen, in a paragraph."""
    p = report["problem"]
    model = "attention alone" if p["width"] is None else f"{p['activation']} MLP, m={p['width']}"
    mark = ", trigger in values" if p["trigger_in_values"] else ""
    failed = ", ".join(f"{noise['stage']} {noise['term']}" for noise in report["failed"])
    verdict = f"failed: {failed}" if failed else "passed"
    return (
        f"Check of V={p['vocab']}, N={p['samples']:g}, d={p['dim']}, L={p['length']}, {model}, "
        f"{p['embedding']}{mark}: {verdict}. Each panel is one noise, as one size at a time is "
        f"changed from half to twice the problem's. Points: mean over {report['seeds']} instances "
        "with standard error. Lines: closed forms, nothing fitted. Variances in units of the "
        "squared signal; of locking, all in units of 1/(V L²)."
    )


def _by_noise(report: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    """The comparisons of each panel, in the order of the stages."""
    panels = grouped_by(report["comparisons"], lambda each: (each["stage"], each["term"]))
    return sorted(panels.values(), key=lambda panel: list(_STAGES).index(panel[0]["stage"]))


def _sizes(report: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(comparison["size"] for comparison in report["comparisons"]))


def _handles(report: Mapping[str, Any]) -> list[Line2D]:
    return [
        handle(f"{size} changed", **look(place) | {"linestyle": "-"})
        for place, size in enumerate(_sizes(report))
    ]


def _draw(axes: Sequence[Axes], report: Mapping[str, Any]) -> None:
    sizes = _sizes(report)
    for each, comparisons in zip(axes, _by_noise(report), strict=True):
        _draw_noise(each, comparisons, sizes)


def _draw_noise(axes: Axes, comparisons: Sequence[Mapping[str, Any]], sizes: Sequence[str]) -> None:
    for comparison in comparisons:
        place = sizes.index(comparison["size"])
        values = np.array(comparison["values"])
        x = values / values[len(values) // 2]
        axes.plot(x, comparison["predicted"], color=COLOURS[place], linewidth=1)
        measured, errors = np.array(comparison["measured"]), np.array(comparison["errors"])
        shown = measured > 0  # an estimate of next to nothing may come out below it
        # Bars that would reach below zero end a decade down.
        down = np.minimum(errors, 0.9 * np.maximum(measured, 0))
        bars = np.array([down, errors])[:, shown]
        apart = x[shown] * 1.02 ** (place - 2)  # sizes side by side, not on top of each other
        small = look(place) | {"markersize": 3, "elinewidth": 0.8}
        axes.errorbar(apart, measured[shown], yerr=bars, **small)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks([0.5, 1, 2], ["½", "1", "2"])
    axes.xaxis.set_minor_locator(NullLocator())
    set_ticks(axes.yaxis)
    worst = min((comparison["verdict"] for comparison in comparisons), key=_VERDICTS.index)
    stage = _STAGES[comparisons[0]["stage"]]
    name = comparisons[0]["term"].replace("_", " ")
    colour = COLOURS[1] if worst == "fail" else "black"
    axes.set_title(fill(f"{stage}: {name}", 20) + f"\n{worst}", fontsize=7, color=colour)
    style_axes(axes)
