"""The picture of a law: critical sizes along each axis, the law through them, and the collapse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recallscope.common.errors import ProblemError
from recallscope.plot import layout
from recallscope.plot.labels import accuracy_label, axis_label, describe_common_fields, letter
from recallscope.plot.layout import columns, draw_line, handle
from recallscope.plot.style import COLOURS, finish, log_bars, look, style_axes
from recallscope.plot.ticks import set_ticks

_MEASURED, _LAW, _THEORY, _EXPECTED = COLOURS[0], COLOURS[1], "black", COLOURS[2]


def scaling_figure(
    scaling: Mapping[str, Any], *, width: float | None = None, caption: bool = True
) -> Figure:
    """One panel for each size that was varied, and one for the collapse if the runs are known.

    Args:
        scaling: as `Scaling.figure_data` gives it, with

            - `quantity`, `target`, `accuracy`: of the critical sizes;
            - `status`: of the fit (undetermined: there is none to draw), and `advice` on it;
            - `exponents`: by size, `value`, `low`, `high`, and `theory`, which may be None;
            - `goodness`: the `p_value` of the fit, and how many points are `reached` and `bounds`;
            - `panels`: for each `size` that was varied, `points` of `x`, critical `value`, its
              `log_sd`, `bound` (0: measured; 1, -1: it lies above, below) and `theory` or None,
              and the ends of the law's `line`, of `x` and `value`; none if there is no law. There
              may be a `theory_line` and, for expected exponents, an `expected_line`: rows of `x`
              and `value`, which may be None;
            - `collapse`: None, or the rms about one curve against the size over that of the `law`,
              about one against the size itself (`raw`), and about each problem's own (`seeds`);
            - `collapse_points`: rows of the number of a `problem`, `ratio` and `accuracy`;
            - `points`: the rows of the problems; the caption names their common fields and the sum
              of `evaluations`.
        width: of the whole figure, in inches.
        caption: whether the figure carries its caption.
    """
    count = scaling_panels(scaling)
    figure, axes = layout.panel_grid(count, width or max(2.4 * count, 3.6), 2.4, narrowest=2.1)
    _draw(axes, scaling)
    layout.explain(figure, _handles(scaling), scaling_caption(scaling) if caption else "")
    return figure


def scaling_panels(scaling: Mapping[str, Any]) -> int:
    """How many axes `draw_scaling` needs."""
    return len(scaling["panels"]) + (scaling["collapse"] is not None)


def draw_scaling(axes: Sequence[Axes], scaling: Mapping[str, Any]) -> None:
    """Draw on your axes; `scaling` is what `scaling_figure` takes."""
    _draw(layout.needed(axes, scaling_panels(scaling)), scaling)
    layout.small_legend(axes[0], _handles(scaling))


def scaling_caption(scaling: Mapping[str, Any]) -> str:
    """Return the caption: what is seen, in a paragraph."""
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
    return " ".join(filter(None, sentences))


def _draw(axes: Sequence[Axes], scaling: Mapping[str, Any]) -> None:
    panels, quantity = scaling["panels"], scaling["quantity"]
    if not any(panel["points"] for panel in panels):
        raise ProblemError("no critical size was reached or bounded, so there is nothing to draw")
    for panel_axes, panel in zip(axes, panels, strict=False):
        _draw_panel(panel_axes, scaling, panel)
        panel_axes.set_ylabel(f"critical {quantity}, {letter(quantity)}*", fontsize=8)
    if scaling["collapse"] is not None:
        _draw_collapse(axes[-1], scaling)


def _handles(scaling: Mapping[str, Any]) -> list[Line2D]:
    has = {name for panel in scaling["panels"] for name in panel if panel[name]}
    line = {"linewidth": 0.8} if "theory_line" in has else {"marker": "x", "linestyle": ""}
    handles = [
        handle("measured", color=_MEASURED, marker="o", linestyle=""),
        handle("power law fitted", color=_LAW, linewidth=1.2),
        handle("predicted", color=_THEORY, **line),
    ]
    if "expected_line" in has:
        handles.append(handle("expected", color=_EXPECTED, linestyle="-.", linewidth=1))
    if scaling["goodness"]["bounds"]:
        handles.append(handle("bound", color=_MEASURED, marker="^", linestyle=""))
    return handles


def _draw_panel(axes: Axes, scaling: Mapping[str, Any], panel: Mapping[str, Any]) -> None:
    points, name = panel["points"], panel["size"]
    x, y, log_sd, bound = columns(points, "x", "value", "log_sd", "bound")
    reached = bound == 0
    bars = log_bars(y[reached], log_sd[reached])
    axes.errorbar(x[reached], y[reached], yerr=bars, **look(0), markersize=3.5, elinewidth=0.8)
    for side, marker in ((1, "^"), (-1, "v")):
        axes.plot(x[bound == side], y[bound == side], marker, color=_MEASURED, markersize=4)
    if theory := panel.get("theory_line"):
        draw_line(axes, theory, color=_THEORY, linewidth=0.8)
    else:
        axes.plot(x, *columns(points, "theory"), "x", color=_THEORY, markersize=4)
    if expected := panel.get("expected_line"):
        draw_line(axes, expected, color=_EXPECTED, linewidth=1, linestyle="-.")
    title = f"{letter(scaling['quantity'])}* against {letter(name)}"
    if panel["line"]:
        draw_line(axes, panel["line"], color=_LAW, linewidth=1.2)
        power = scaling["exponents"][name]
        title += f"\nmeasured {power['value']:.2f} ({power['low']:.2f} to {power['high']:.2f})"
        title += "" if power["theory"] is None else f"\ntheory {power['theory']:.2f}"
    axes.set_title(title.replace("-", "−"), fontsize=7)
    axes.set_xscale("log")
    axes.set_yscale("log")
    set_ticks(axes.xaxis, sorted({point["x"] for point in points}), base=2)
    set_ticks(axes.yaxis, base=2)
    axes.set_xlabel(axis_label(name), fontsize=8)
    style_axes(axes)


def _draw_collapse(axes: Axes, scaling: Mapping[str, Any]) -> None:
    points = scaling["collapse_points"]
    for problem in sorted({point["problem"] for point in points}):
        mine = [point for point in points if point["problem"] == problem]
        small = look(problem) | {"markersize": 2.5, "alpha": 0.6}
        axes.plot(*columns(mine, "ratio", "accuracy"), **small)
    size, rms = letter(scaling["quantity"]), scaling["collapse"]
    axes.axhline(scaling["target"], color="0.4", linewidth=0.6)
    axes.axvline(1, color="0.4", linewidth=0.6)
    axes.set_xscale("log")
    axes.set_ylim(-0.03, 1.03)
    axes.set_title(
        f"all runs on one curve? rms {rms['law']:.3f}\nagainst {size} itself: {rms['raw']:.3f}\n"
        f"about each problem's own: {rms['seeds']:.3f}",
        fontsize=7,
    )
    finish(axes, f"{size}/{size}* of the law", f"{accuracy_label(scaling['accuracy'])} accuracy")
