"""The picture of ablations: both arms and their difference, a row for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recallscope.plot.labels import accuracy_label, describe_common_fields
from recallscope.plot.layout import explain, handle, needed, panel_grid, small_legend
from recallscope.plot.style import look, style_axes
from recallscope.plot.ticks import set_ticks

_A, _B, _DIFFERENCE = 0, 1, 3  # places among the colours and markers
_APART = 0.14  # half the distance of the two arms of a row
_SIDE_BY_SIDE = 5.5  # inches, the least width for both panels in a row


def ablation_figure(
    comparisons: Sequence[Mapping[str, Any]], *, width: float | None = None, caption: bool = True
) -> Figure:
    """First the mean of both arms, then what the change adds.

    Args:
        comparisons: a row for each comparison, as `AblationResult.to_dict` gives it, with

            - `ablation`: its name, and `a` and `b`, what the arms are called;
            - `mean_a`, `low_a`, `high_a`, and so for b: None if there is no pair to compare;
            - `difference`, `low`, `high`: of B minus A, or None, and the `verdict` in words;
            - `pairs`, `failed`, `infeasible`: how many there are, and were left out;
            - `tests`: samples that each run was tested on;
            - `note`: if there is one, the figure shows the `dim` of B;
            - `problem_a`, `problem_b`: the fields of the problems, and `accuracy_a`.
        width: of the whole figure, in inches.
        caption: whether the figure carries its caption.
    """
    width = width or 6.75
    figure, axes = panel_grid(2, width, 0.5 + 0.46 * len(comparisons), narrowest=_SIDE_BY_SIDE / 2)
    _draw(axes, comparisons, stacked=width < _SIDE_BY_SIDE)
    explain(figure, _handles(), ablation_caption(comparisons) if caption else "")
    return figure


def ablation_panels(comparisons: Sequence[Mapping[str, Any]]) -> int:
    """How many axes `draw_ablation` needs."""
    return 2


def draw_ablation(axes: Sequence[Axes], comparisons: Sequence[Mapping[str, Any]]) -> None:
    """Draw on your axes; `comparisons` is what `ablation_figure` takes."""
    _draw(needed(axes, ablation_panels(comparisons)), comparisons, stacked=True)
    small_legend(axes[0], _handles())


def ablation_caption(comparisons: Sequence[Mapping[str, Any]]) -> str:
    """Return the caption: what is seen, in a paragraph."""
    seeds = max(row["pairs"] for row in comparisons)
    lost = sum(row["failed"] + row["infeasible"] for row in comparisons)
    sentences = [
        f"A: {describe_common_fields([comparisons[0]['problem_a']])}; B: the same with one change.",
        f"Means over {seeds} seeds, the same in A and B, each tested on "
        f"{max(row['tests'] for row in comparisons)} fresh samples. Bars: 95 % intervals.",
    ]
    if lost:
        sentences.append(f"{lost} pairs are left out because a run failed or was infeasible.")
    return " ".join(sentences)


def _draw(axes: Sequence[Axes], comparisons: Sequence[Mapping[str, Any]], stacked: bool) -> None:
    """Draw both panels; numbers of rows are at the right of the second panel, or at its left if
    panels are stacked."""
    means, differences = axes
    for place, row in enumerate(comparisons):
        _dot(means, (row["mean_a"], row["low_a"], row["high_a"]), place - _APART, _A)
        _dot(means, (row["mean_b"], row["low_b"], row["high_b"]), place + _APART, _B)
        _dot(differences, (row["difference"], row["low"], row["high"]), place, _DIFFERENCE)
    differences.axvline(0, color="0.5", linewidth=0.8)
    means.set_xlim(-0.02, 1.02)
    means.set_xlabel(f"{accuracy_label(comparisons[0]['accuracy_a'])} accuracy", fontsize=8)
    differences.set_xlabel("B − A", fontsize=8)
    for panel, labels in (
        (means, [_name(row) for row in comparisons]),
        (differences, [_numbers(row, named=stacked) for row in comparisons]),
    ):
        style_axes(panel)
        panel.grid(False, axis="y")
        panel.set_yticks(range(len(comparisons)), labels)
        panel.set_ylim(len(comparisons) - 0.5, -0.5)
        set_ticks(panel.xaxis)
    if not stacked:
        differences.yaxis.tick_right()
        differences.tick_params(axis="y", length=0)


def _handles() -> list[Line2D]:
    named = {_A: "A, the problem as given", _B: "B, with the change", _DIFFERENCE: "B − A"}
    return [handle(label, **look(place) | {"linestyle": "-"}) for place, label in named.items()]


def _dot(axes: Axes, interval: tuple[Any, Any, Any], height: float, place: int) -> None:
    mean, low, high = interval
    if mean is None:
        return
    bars = [[mean - low], [high - mean]]
    axes.errorbar(mean, height, xerr=bars, **look(place), markersize=3, elinewidth=1, capsize=2)


def _name(row: Mapping[str, Any]) -> str:
    dim = f", d={row['problem_b']['dim']}" if row["note"] else ""
    return f"{row['ablation']}\nA {row['a']}\nB {row['b']}{dim}"


def _numbers(row: Mapping[str, Any], named: bool) -> str:
    mean, low, high, verdict = (row[name] for name in ("difference", "low", "high", "verdict"))
    name = f"{row['ablation']}: " if named else ""
    if mean is None:
        return f"{name}{verdict}"
    text = f"{mean:+.3f} ({low:+.3f} to {high:+.3f})\n{name}{verdict}"
    return text.replace("-0.", "−0.")
