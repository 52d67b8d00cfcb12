"""The picture of ablations: both arms and their difference, a row for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from recallscope.plotting.labels import accuracy_label, describe_common_fields
from recallscope.plotting.style import COLOURS, MARKERS, new_figure, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_A, _B, _DIFFERENCE = 0, 1, 3  # places among the colours and markers
_APART = 0.14  # half the distance of the two arms of a row


def ablation_figure(found: Sequence[Mapping[str, Any]]) -> Figure:
    """On the left the mean of both arms, on the right what the change adds.

    Args:
        found: a row for each comparison, as `AblationResult.to_dict` gives it, with

            - `ablation`: its name, and `a` and `b`, what the arms are called;
            - `mean_a`, `low_a`, `high_a`, and so for b: None if there is no pair to compare;
            - `difference`, `low`, `high`: of B minus A, or None, and the `verdict` in words;
            - `pairs`, `failed`, `infeasible`: how many there are, and were left out;
            - `tests`: samples that each run was tested on;
            - `note`: if there is one, the `dim` of B is told;
            - `problem_a`, `problem_b`: the fields of the problems, and `accuracy_a`.
    """
    figure = new_figure(7.2, 1.2 + 0.42 * len(found))
    means, differences = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    for place, row in enumerate(found):
        _dot(means, (row["mean_a"], row["low_a"], row["high_a"]), place - _APART, _A)
        _dot(means, (row["mean_b"], row["low_b"], row["high_b"]), place + _APART, _B)
        _dot(differences, (row["difference"], row["low"], row["high"]), place, _DIFFERENCE)
    for axes in (means, differences):
        style_axes(axes)
        axes.grid(False, axis="y")
    means.set_yticks(range(len(found)), [_name(row) for row in found])
    means.set_ylim(len(found) - 0.5, -0.5)
    means.set_xlim(-0.02, 1.02)
    means.set_xlabel(f"{accuracy_label(found[0]['accuracy_a'])} accuracy", fontsize=8)
    differences.axvline(0, color="0.5", linewidth=0.8)
    for place, row in enumerate(found):
        differences.text(
            1.03,
            place,
            _numbers(row),
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


def _dot(axes: Axes, interval: tuple[Any, Any, Any], height: float, place: int) -> None:
    mean, low, high = interval
    if mean is None:
        return
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


def _name(row: Mapping[str, Any]) -> str:
    dim = f", d={row['problem_b']['dim']}" if row["note"] else ""
    return f"{row['ablation']}\nA {row['a']}, B {row['b']}{dim}"


def _numbers(row: Mapping[str, Any]) -> str:
    mean, low, high, verdict = (row[name] for name in ("difference", "low", "high", "verdict"))
    if mean is None:
        return str(verdict)
    return f"{mean:+.3f} ({low:+.3f} to {high:+.3f})\n{verdict}"


def _caption(found: Sequence[Mapping[str, Any]]) -> str:
    seeds = max(row["pairs"] for row in found)
    lost = sum(row["failed"] + row["infeasible"] for row in found)
    sentences = [
        f"A: {describe_common_fields([found[0]['problem_a']])}; B: the same with one change.",
        f"Means over {seeds} seeds, the same in A and B, each tested on "
        f"{max(row['tests'] for row in found)} fresh samples. Bars: 95 % intervals.",
    ]
    if lost:
        sentences.append(f"{lost} pairs are left out because a run failed or was infeasible.")
    return fill(" ".join(sentences), 125)
