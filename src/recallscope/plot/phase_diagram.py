"""The picture of phase diagrams: what was measured, what theory says, and where they disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from scipy.ndimage import distance_transform_edt  # type: ignore[import-untyped]
from scipy.special import logit  # type: ignore[import-untyped]

from recallscope.common.arrays import Column, Table
from recallscope.plot import layout
from recallscope.plot.labels import (
    accuracy_label,
    bottleneck_label,
    describe_common_fields,
    describe_fields,
    letter,
)
from recallscope.plot.layout import handle
from recallscope.plot.style import COLOUR_MAP, COLOURS, label_size_axes

_MEASURED, _THEORY, _REGIONS = COLOURS[1], "black", "white"
_BRIGHT = 0.6  # cells above are light enough for black on them
_NEAR_TARGET = 0.25  # cells without names, to keep the boundary visible
_NO_NOISE = -1  # the code of a cell where the law has no noises
_GAP = 3  # points, between a name and the frame
_SMALLEST_NAMED = 0.03  # fraction of the plane; smaller regions carry no name
_Side = Literal["left", "center", "right"]


def phase_diagram_figure(
    diagrams: Sequence[Mapping[str, Any]], *, width: float | None = None, caption: bool = True
) -> Figure:
    """Diagrams side by side: measured accuracy in colour, boundaries and disagreements on it.

    Args:
        diagrams: each as `PhaseDiagram.to_dict` or `recallscope phase --json` gives it, with

            - `problem`: the fields that all cells share, of which `embedding` must be there;
            - `x` and `y`: the `name` of a size and its `values`, rising;
            - `accuracy`, `target`, and `seeds`, the runs of a cell;
            - `cells`: rows, along x first, then along y, of `x`, `y`, the `mean` measured (None if
              there is none), the accuracy `predicted`, whether it `disagrees`, the `stage` and
              `term` that bind (None where a law has no noises), `tests` of a run, and how many runs
              `failed`;
            - `boundary`: rows of `x` and the `value` of y where the mean crosses the target, with
              its ends `low` and `high`; all may be None;
            - `no_boundary`: why there is none along y, if there is none. Then no line is drawn;
            - `law`, `kind` and `origin`: the name of the law, whether it is derived, fitted or
              published, and a sentence on where it comes from; not needed;
            - `theory_line`: the same by that law, at many x: rows of `x` and `value`, None
              where there is none. Without it the line is drawn between the cells;
            - `disagreement`: the `count` of cells that disagree, `of` how many, and the
              `tolerance`: how far beyond its interval theory may be off, 0 if not given;
            - `without_theory`: why there is none, if there is none. Then nothing of it is drawn.
        width: of the whole figure, in inches.
        caption: whether the figure carries its caption.
    """
    width = width or 0.9 + 3.15 * len(diagrams)
    figure, axes = layout.panel_grid(phase_diagram_panels(diagrams), width, 2.8, narrowest=2.6)
    _draw(axes, diagrams)
    layout.explain(figure, _handles(diagrams), phase_diagram_caption(diagrams) if caption else "")
    return figure


def phase_diagram_panels(diagrams: Sequence[Mapping[str, Any]]) -> int:
    """How many axes `draw_phase_diagram` needs: one for each diagram."""
    return len(diagrams)


def draw_phase_diagram(axes: Sequence[Axes], diagrams: Sequence[Mapping[str, Any]]) -> None:
    """Draw on your axes; `diagrams` is what `phase_diagram_figure` takes."""
    _draw(layout.needed(axes, phase_diagram_panels(diagrams)), diagrams)
    layout.small_legend(axes[0], _handles(diagrams))


def phase_diagram_caption(diagrams: Sequence[Mapping[str, Any]]) -> str:
    """Return the caption: what is seen, in a paragraph."""
    first = diagrams[0]
    seeds = " or ".join(map(str, sorted({diagram["seeds"] for diagram in diagrams})))
    tests = max(cell["tests"] for cell in first["cells"])
    failed = sum(cell["failed"] for diagram in diagrams for cell in diagram["cells"])
    problems = [diagram["problem"] | {"own": diagram.get("own")} for diagram in diagrams]
    sentences = [
        f"{describe_common_fields(problems)}.",
        f"Colour: mean {accuracy_label(first['accuracy'])} accuracy of {seeds} seeds per cell, "
        f"tested on {tests} fresh samples each.",
    ]
    if any(not diagram.get("no_boundary") for diagram in diagrams):
        sentences.append("Bars: 95 % intervals.")
    predicted = [diagram for diagram in diagrams if not _without_theory(diagram)]
    sentences += dict.fromkeys(diagram.get("origin") or "" for diagram in predicted)
    sentences += dict.fromkeys(
        f"{why[0].upper()}{why[1:]}." for diagram in diagrams if (why := diagram.get("no_boundary"))
    )
    if predicted and not _tolerance(predicted[0]):
        sentences.append("One cell in twenty has a cross by chance.")
    if failed:
        sentences.append(f"{failed} runs failed and are left out.")
    return " ".join(filter(None, sentences))


def _law(diagram: Mapping[str, Any]) -> str:
    """Return the law that predicts a diagram."""
    if not diagram.get("law"):
        return "theory"
    return f"the {diagram['kind']} law {diagram['law']}"


def _draw(axes: Sequence[Axes], diagrams: Sequence[Mapping[str, Any]]) -> None:
    stages = len({stage for diagram in diagrams for stage, _ in _noises(diagram)})
    for diagram_axes, diagram in zip(axes, diagrams, strict=True):
        mesh = _draw_diagram(diagram_axes, diagram, stages)
        diagram_axes.set_title(_title(diagram, diagrams), fontsize=7.5)
    bar = axes[0].figure.colorbar(mesh, ax=list(axes), aspect=30, pad=0.02)
    bar.set_label(f"measured {accuracy_label(diagrams[0]['accuracy'])} accuracy", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_linewidth(0.5)


def _draw_diagram(axes: Axes, diagram: Mapping[str, Any], stages: int) -> QuadMesh:
    x_edges, y_edges = _edges(diagram["x"]["values"]), _edges(diagram["y"]["values"])
    mean = _plane(diagram, "mean")
    axes.set_facecolor("0.85")  # cells without a measurement
    mesh = axes.pcolormesh(x_edges, y_edges, mean, cmap=COLOUR_MAP, vmin=0, vmax=1, rasterized=True)
    label_size_axes(axes, diagram["x"]["name"], diagram["y"]["name"])
    if not _without_theory(diagram):
        _draw_regions(axes, diagram, x_edges, y_edges, stages)
        _draw_disagreements(axes, diagram)
    if not diagram.get("no_boundary"):
        if not _without_theory(diagram):
            _draw_theory(axes, diagram)
        _draw_boundary(axes, diagram)
    axes.set_xlim(x_edges[0], x_edges[-1])
    axes.set_ylim(y_edges[0], y_edges[-1])
    return mesh


def _shape(diagram: Mapping[str, Any]) -> tuple[int, int]:
    return len(diagram["y"]["values"]), len(diagram["x"]["values"])


def _edges(values: Sequence[float]) -> Column:
    """Between the values halfway in the logarithm, and as far beyond the first and the last."""
    has_logarithms = min(values) > 0
    places = np.log(values) if has_logarithms else np.asarray(values, dtype=float)
    middles = (places[1:] + places[:-1]) / 2
    first, last = 2 * places[0] - middles[0], 2 * places[-1] - middles[-1]
    edges: Column = np.concatenate([[first], middles, [last]])
    return np.exp(edges) if has_logarithms else edges


def _draw_regions(
    axes: Axes, diagram: Mapping[str, Any], x_edges: Column, y_edges: Column, stages: int
) -> None:
    """Lines between cells with different bottlenecks, and a name inside each region."""
    kinds = _noises(diagram)
    number = {kind: code for code, kind in enumerate(kinds)}
    codes = np.array([number.get(_binding(cell), _NO_NOISE) for cell in diagram["cells"]])
    codes = codes.reshape(_shape(diagram))
    across = (np.diff(codes, axis=1) != 0) & (codes[:, 1:] >= 0) & (codes[:, :-1] >= 0)
    along = (np.diff(codes, axis=0) != 0) & (codes[1:] >= 0) & (codes[:-1] >= 0)
    upright = [
        [(x_edges[j + 1], y_edges[i]), (x_edges[j + 1], y_edges[i + 1])]
        for i, j in zip(*np.nonzero(across), strict=True)
    ]
    level = [
        [(x_edges[j], y_edges[i + 1]), (x_edges[j + 1], y_edges[i + 1])]
        for i, j in zip(*np.nonzero(along), strict=True)
    ]
    axes.add_collection(LineCollection(upright + level, colors=_REGIONS, linewidths=0.9))
    at_boundary = np.abs(_plane(diagram, "predicted") - diagram["target"]) < _NEAR_TARGET
    for code, (stage, term) in enumerate(kinds):
        inside = codes == code
        if inside.mean() < _SMALLEST_NAMED:
            continue
        # The cell that is farthest from all others' regions, the boundary and the frame.
        free = inside & ~at_boundary
        depth = distance_transform_edt(np.pad(free if free.any() else inside, 1))[1:-1, 1:-1]
        i, j = np.unravel_index(np.argmax(depth), depth.shape)
        x, side, gap = _place(int(j), diagram["x"]["values"], x_edges)
        axes.annotate(
            bottleneck_label(stage, term, stages).replace(": ", ":\n"),
            (x, diagram["y"]["values"][i]),
            (gap, 0),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize=7,
            color="white",
            path_effects=[withStroke(linewidth=1.6, foreground="black")],
            zorder=6,
        )


def _place(column: int, xs: Sequence[float], edges: Column) -> tuple[float, _Side, float]:
    """Where a name is, how it is aligned there, and the points between: near the frame it stands
    along the frame."""
    if column < len(xs) / 6:
        return edges[0], "left", _GAP
    if column >= 5 * len(xs) / 6:
        return edges[-1], "right", -_GAP
    return xs[column], "center", 0


def _binding(cell: Mapping[str, Any]) -> tuple[str, str]:
    return cell["stage"] or "", cell["term"] or ""


def _noises(diagram: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The stages and noises that are a bottleneck somewhere; none if the law has no noises."""
    return sorted(set(map(_binding, diagram["cells"])) - {("", "")})


def _draw_disagreements(axes: Axes, diagram: Mapping[str, Any]) -> None:
    size = min(3.2, 60 / max(_shape(diagram)))
    for light, colour in ((False, "white"), (True, "black")):
        chosen = [
            cell
            for cell in diagram["cells"]
            if cell["disagrees"] and (cell["mean"] > _BRIGHT) == light
        ]
        places = layout.columns(chosen, "x", "y")
        axes.plot(*places, "x", color=colour, markersize=size, markeredgewidth=0.7)


def _plane(diagram: Mapping[str, Any], name: str) -> Table:
    """A number of each cell, NaN where there is none."""
    return layout.columns(diagram["cells"], name).reshape(_shape(diagram))


def _without_theory(diagram: Mapping[str, Any]) -> bool:
    return bool(diagram.get("without_theory"))


def _draw_theory(axes: Axes, diagram: Mapping[str, Any]) -> None:
    stroke = [withStroke(linewidth=2.6, foreground="white")]
    rows = [row for row in diagram.get("theory_line") or () if row["value"] is not None]
    if rows:
        layout.draw_line(axes, rows, color=_THEORY, linewidth=1.4, path_effects=stroke, zorder=4)
    # A logit is straighter between cells than an accuracy.
    predicted = logit(np.clip(_plane(diagram, "predicted"), 1e-9, 1 - 1e-9))
    for columns in _columns_beyond(diagram, rows):
        line = axes.contour(
            diagram["x"]["values"][columns],
            diagram["y"]["values"],
            predicted[:, columns],
            levels=[logit(diagram["target"])],
            colors=_THEORY,
            linewidths=1.4,
            zorder=4,
        )
        line.set(path_effects=stroke)


def _columns_beyond(
    diagram: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> list[slice[int, int | None, None]]:
    """The columns of cells where the line has no value, as it runs upwards there, if at all."""
    xs = diagram["x"]["values"]
    if not rows:
        return [slice(0, None)]
    first, last = min(row["x"] for row in rows), max(row["x"] for row in rows)
    left = int(np.searchsorted(xs, first)) + 1
    right = int(np.searchsorted(xs, last, side="right")) - 1
    beyond = [slice(0, left), slice(right, None)]
    return [columns for columns in beyond if len(xs[columns]) > 1]


def _draw_boundary(axes: Axes, diagram: Mapping[str, Any]) -> None:
    ys = diagram["y"]["values"]
    known = [crossing for crossing in diagram["boundary"] if crossing["value"] is not None]
    if not known:
        return
    x, value, low, high = layout.columns(known, "x", "value", "low", "high")
    # An end that is not known reaches beyond the plane.
    down = value - np.where(np.isnan(low), ys[0] / 4, low)
    up = np.where(np.isnan(high), ys[-1] * 4, high) - value
    axes.errorbar(
        x,
        value,
        yerr=np.maximum([down, up], 0),
        fmt="o",
        color=_MEASURED,
        markersize=3.2,
        markeredgecolor="white",
        markeredgewidth=0.4,
        elinewidth=1,
        zorder=5,
    )


def _handles(diagrams: Sequence[Mapping[str, Any]]) -> list[Line2D]:
    """Of what is drawn in one diagram at least."""
    handles = []
    crossed = [diagram for diagram in diagrams if not diagram.get("no_boundary")]
    predicted = [diagram for diagram in diagrams if not _without_theory(diagram)]
    if crossed:
        along, look = letter(crossed[0]["y"]["name"]), {"marker": "o", "linewidth": 1}
        measured = f"{along} of accuracy {crossed[0]['target']:g}, measured"
        handles.append(handle(measured, color=_MEASURED, **look))
    if lined := dict.fromkeys(_law(diagram) for diagram in predicted if diagram in crossed):
        handles.append(handle(f"the same by {' or '.join(lined)}", color=_THEORY, linewidth=1.4))
    if any(len(_noises(diagram)) > 1 for diagram in predicted):
        stroke = [withStroke(linewidth=2, foreground="0.6")]
        border = "border between noises that dominate"
        handles.append(handle(border, color=_REGIONS, linewidth=1, path_effects=stroke))
    if predicted:
        handles.append(handle(_off(predicted[0]), color="black", marker="x", linestyle=""))
    return handles


def _title(diagram: Mapping[str, Any], diagrams: Sequence[Mapping[str, Any]]) -> str:
    """Return what sets a panel apart from the others, and how far theory is off in it."""
    common = set.intersection(
        *(set(describe_fields(diagram["problem"]).values()) for diagram in diagrams)
    )
    own = [text for text in describe_fields(diagram["problem"]).values() if text not in common]
    if _without_theory(diagram):
        return ", ".join(own) or str(diagram["without_theory"])
    crosses, compared = diagram["disagreement"]["count"], diagram["disagreement"]["of"]
    text = f"crosses in {crosses} of {compared} cells"
    errors = np.abs(_plane(diagram, "predicted") - _plane(diagram, "mean"))
    if np.isfinite(errors).any():
        text = f"theory off by {np.nanmean(errors):.3f} on average, {text}"
    return fill(f"{', '.join(own)}: {text}" if own else text, 44)


def _tolerance(diagram: Mapping[str, Any]) -> float:
    return float(diagram["disagreement"].get("tolerance", 0.0))


def _off(diagram: Mapping[str, Any]) -> str:
    """When a cell carries a cross."""
    tolerance = _tolerance(diagram)
    if not tolerance:
        return "theory outside the 95 % interval"
    return f"theory off by more than {tolerance:g} beyond the 95 % interval"
