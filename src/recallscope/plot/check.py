"""The picture of a check: every noise as measured over as predicted, along every size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recallscope.plot.grouping import grouped_by
from recallscope.plot.labels import noise_label
from recallscope.plot.layout import explain, handle, needed, small_legend
from recallscope.plot.style import look, new_figure, style_axes
from recallscope.plot.ticks import set_ticks

_STAGES = {"first_gradient": "first gradient", "attention": "attention", "recall": "recall"}
_LEVEL = 1.5  # by which factor a level may be off
_WIDEST = 2.6  # the ratio at the end of the axis
_SIDE_BY_SIDE = 6.0  # inches, from which the stages stand beside each other
_VERDICTS = ("fail", "unclear", "pass", "negligible")  # the worst first


def check_figure(
    report: Mapping[str, Any], *, width: float | None = None, caption: bool = True
) -> Figure:
    """A panel for each stage and a row for each noise: points are measured over predicted.

    Args:
        report: as `CheckReport.to_dict` or `recallscope check --json` gives it, with

            - `problem`: its fields, and `seeds`, how many instances there were;
            - `failed`: the `stage` and `term` of every noise that failed;
            - `comparisons`: rows of `stage` (first_gradient, attention or recall), `term`, `size`
              (the name of the one that is changed), its `values`, and at each of them what was
              `measured`, its `errors` and what was `predicted`; `verdict` is pass, fail, unclear or
              negligible.
        width: of the whole figure, in inches.
        caption: whether the figure carries its caption.
    """
    rows, width = [len(noises) for noises in _by_stage(report)], width or 6.75
    if width < _SIDE_BY_SIDE:
        figure = new_figure(width, 0.6 * len(rows) + 0.27 * sum(rows))
        axes = figure.subplots(len(rows), squeeze=False, height_ratios=rows)
    else:
        figure = new_figure(width, 0.6 + 0.33 * max(rows))
        axes = figure.subplots(1, len(rows), squeeze=False)
    _draw(list(axes.ravel()), report)
    explain(figure, _handles(report), check_caption(report) if caption else "")
    return figure


def check_panels(report: Mapping[str, Any]) -> int:
    """How many axes `draw_check` needs: one for each stage."""
    return len(_by_stage(report))


def draw_check(axes: Sequence[Axes], report: Mapping[str, Any]) -> None:
    """Draw on your axes; `report` is what `check_figure` takes."""
    _draw(needed(axes, check_panels(report)), report)
    small_legend(axes[0], _handles(report))


def check_caption(report: Mapping[str, Any]) -> str:
    """Return the caption: what is seen, in a paragraph."""
    p = report["problem"]
    model = "attention alone" if p["width"] is None else f"{p['activation']} MLP, m={p['width']}"
    mark = ", trigger in values" if p["trigger_in_values"] else ""
    failed = ", ".join(f"{noise['stage']} {noise['term']}" for noise in report["failed"])
    verdict = f"failed for {failed}" if failed else "passed"
    return (
        f"Check {verdict}: V={p['vocab']}, N={p['samples']:g}, d={p['dim']}, L={p['length']}, "
        f"{model}, {p['embedding']}{mark}. Variances over those of closed forms, nothing fitted. "
        "One size changes, to half (hollow) and twice (filled). Bars: standard errors of "
        f"{report['seeds']} instances. Grey: within a factor {_LEVEL:g}."
    )


def _by_stage(report: Mapping[str, Any]) -> list[list[list[Mapping[str, Any]]]]:
    """The comparisons of each noise of each stage, in the order of the stages."""
    stages = grouped_by(report["comparisons"], lambda comparison: comparison["stage"])
    return [
        list(grouped_by(stages[stage], lambda comparison: comparison["term"]).values())
        for stage in _STAGES
        if stage in stages
    ]


def _sizes(report: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(comparison["size"] for comparison in report["comparisons"]))


def _handles(report: Mapping[str, Any]) -> list[Line2D]:
    return [handle(f"{size} changed", **look(place)) for place, size in enumerate(_sizes(report))]


def _draw(axes: Sequence[Axes], report: Mapping[str, Any]) -> None:
    sizes = _sizes(report)
    for stage_axes, noises in zip(axes, _by_stage(report), strict=True):
        for row, comparisons in enumerate(noises):
            stage_axes.axhline(row - 0.5, color="0.8", linewidth=0.5)
            for comparison in comparisons:
                place = sizes.index(comparison["size"])
                _draw_ratios(
                    stage_axes, comparison, row + 0.15 * (place - (len(sizes) - 1) / 2), place
                )
        stage_axes.axvspan(1 / _LEVEL, _LEVEL, color="0.9", zorder=0)
        stage_axes.axvline(1, color="0.4", linewidth=0.8, zorder=1)
        stage_axes.set(xscale="log", xlim=(1 / _WIDEST, _WIDEST), ylim=(len(noises) - 0.5, -0.5))
        set_ticks(stage_axes.xaxis, [0.5, 1, 2])
        stage_axes.set_yticks(range(len(noises)), map(_name, noises))
        stage_axes.set_xlabel("measured/predicted", fontsize=7.5)
        stage_axes.set_title(_STAGES[noises[0][0]["stage"]], fontsize=7.5)
        style_axes(stage_axes)
        stage_axes.grid(False, axis="y")


def _draw_ratios(axes: Axes, comparison: Mapping[str, Any], height: float, place: int) -> None:
    predicted = np.array(comparison["predicted"])
    ratio, error = (np.array(comparison[name]) / predicted for name in ("measured", "errors"))
    colour, marker = look(place)["color"], look(place)["marker"]
    alpha = 0.3 if comparison["verdict"] == "negligible" else 1
    for at, (mean, sd) in enumerate(zip(ratio, error, strict=True)):
        fill = "white" if at < len(ratio) // 2 else colour
        if 1 / _WIDEST < mean < _WIDEST:
            kind = marker
            # A bar that would reach below zero ends at the axis.
            ends = [max(mean - sd, 1e-3), mean + sd]
            axes.plot(ends, [height] * 2, color=colour, linewidth=0.8, alpha=alpha)
        else:  # an estimate of next to nothing may come out below it
            kind, mean = (">", 0.97 * _WIDEST) if mean > 1 else ("<", 1.03 / _WIDEST)
        axes.plot(mean, height, kind, color=colour, alpha=alpha, mfc=fill, markersize=3)


def _name(comparisons: Sequence[Mapping[str, Any]]) -> str:
    worst = min((comparison["verdict"] for comparison in comparisons), key=_VERDICTS.index)
    return f"{noise_label(comparisons[0]['term'])}\n{worst}"
