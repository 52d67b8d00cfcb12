"""The picture of ablations: both arms and their difference, a row for each."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from matplotlib.lines import Line2D

from recallscope.measurement.ablation import AblationResult
from recallscope.plotting.labels import in_common, kind_of
from recallscope.plotting.style import COLOURS, MARKERS, new_figure, tidy
from recallscope.statistics.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_A, _B, _DIFFERENCE = 0, 1, 3  # places among the colours and markers
_APART = 0.14  # half the distance of the two arms of a row


def ablation_figure(found: Sequence[AblationResult]) -> Figure:
    """On the left the mean of both arms, on the right what the change adds."""
    figure = new_figure(7.2, 1.2 + 0.42 * len(found))
    means, differences = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    for place, comparison in enumerate(found):
        _dot(means, comparison.a, place - _APART, _A)
        _dot(means, comparison.b, place + _APART, _B)
        _dot(differences, comparison.difference, place, _DIFFERENCE)
    for axes in (means, differences):
        tidy(axes)
        axes.grid(False, axis="y")
    means.set_yticks(range(len(found)), [_row(comparison) for comparison in found])
    means.set_ylim(len(found) - 0.5, -0.5)
    means.set_xlim(-0.02, 1.02)
    means.set_xlabel(f"{kind_of(found[0].ablation.a.accuracy)} accuracy", fontsize=8)
    differences.axvline(0, color="0.5", linewidth=0.8)
    for place, comparison in enumerate(found):
        differences.text(
            1.03,
            place,
            _numbers(comparison),
            transform=differences.get_yaxis_transform(),
            fontsize=7,
            va="center",
        )
    differences.tick_params(axis="y", length=0)
    differences.set_xlabel("B − A", fontsize=8)
    figure.suptitle(_caption(found), fontsize=7)
    handles = [
        Line2D([], [], color=COLOURS[place], marker=MARKERS[place], markersize=4, label=label)
        for place, label in ((_A, "A"), (_B, "B"), (_DIFFERENCE, "B − A"))
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=7, frameon=False)
    return figure


def _dot(axes: Axes, interval: Interval | None, height: float, place: int) -> None:
    if interval is None:
        return
    mean, low, high = interval
    axes.errorbar(
        mean,
        height,
        xerr=[[mean - low], [high - mean]],
        fmt=MARKERS[place],
        color=COLOURS[place],
        markersize=3,
        linewidth=1,
        capsize=2,
    )


def _row(comparison: AblationResult) -> str:
    name, a, b, note = comparison.ablation
    dim = f", d={b.problem.dim}" if note else ""
    return f"{name}\nA {a.label}, B {b.label}{dim}"


def _numbers(comparison: AblationResult) -> str:
    if comparison.difference is None:
        return str(comparison.verdict)
    mean, low, high = comparison.difference
    return f"{mean:+.3f} ({low:+.3f} to {high:+.3f})\n{comparison.verdict}"


def _caption(found: Sequence[AblationResult]) -> str:
    seeds = max(comparison.pairs for comparison in found)
    lost = sum(comparison.failed + comparison.infeasible for comparison in found)
    sentences = [
        f"A: {in_common([found[0].ablation.a.problem.to_dict()])}; B: the same with one change.",
        f"Means over {seeds} seeds, the same in A and B, each tested on "
        f"{max(comparison.tests for comparison in found)} fresh samples. Bars: 95 % intervals.",
    ]
    if lost:
        sentences.append(f"{lost} pairs are left out because a run failed or was infeasible.")
    return fill(" ".join(sentences), 125)
