"""The picture of a phase map: which noise is the bottleneck where, and where recall succeeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from recallscope.plot import layout
from recallscope.plot.labels import accuracy_label, bottleneck_label
from recallscope.plot.style import NOISES, label_size_axes

_LEVELS = (0.1, 0.5, 0.9)
_PALE = 0.45
# A colour for each noise and a pattern for each stage: no two regions look alike, to any eye.
_COLOUR = {name: colour for name, (colour, _) in NOISES.items()}
_NOTHING = ("", "")  # where a law has no noises
_COLOUR[""] = "white"
_HATCH = {"": "", "recall": "", "attention": "////", "first_gradient": "..."}


def phase_map_figure(
    plane: Mapping[str, Any], title: str = "", *, width: float | None = None, caption: bool = True
) -> Figure:
    """Regions by their bottleneck, with lines of equal predicted accuracy.

    The colour shows the noise and the hatching its stage: none for recall, lines for attention,
    dots for the first gradient. A map of one stage has no hatching.

    Args:
        plane: as `PhaseMap.figure_data` gives it; what `recallscope phase --json` prints will do
            too. It has

            - `x` and `y`: the `name` of a size and its `values`;
            - `accuracy`: the name of the one predicted;
            - `origin`: a sentence on where the law comes from; not needed;
            - `cells`: rows of `predicted`, `stage` and `term`, along x first, then along y.
        title: a line above the panel.
        width: of the whole figure, in inches.
        caption: whether the figure carries its caption.
    """
    figure, (axes,) = layout.panel_grid(phase_map_panels(plane), width or 4.6, 2.9, narrowest=2)
    _draw(axes, plane)
    letters = int(0.75 * layout.LETTERS_PER_INCH * figure.get_figwidth())  # above the axes alone
    axes.set_title("\n".join(layout.even_lines(title, letters)), fontsize=7.5)
    layout.explain(figure, _handles(axes, plane), phase_map_caption(plane) if caption else "")
    return figure


def phase_map_panels(plane: Mapping[str, Any]) -> int:
    """How many axes `draw_phase_map` needs."""
    return 1


def draw_phase_map(axes: Sequence[Axes], plane: Mapping[str, Any]) -> None:
    """Draw on your axes; `plane` is what `phase_map_figure` takes."""
    (one,) = layout.needed(axes, phase_map_panels(plane))
    _draw(one, plane)
    layout.small_legend(one, _handles(one, plane))


def phase_map_caption(plane: Mapping[str, Any]) -> str:
    """Return the caption: what is seen, in a paragraph."""
    lines = f"Lines: predicted {accuracy_label(plane['accuracy'])} accuracy."
    lines = f"{lines} {plane.get('origin') or ''}".rstrip()
    stages = _stages(plane)
    if not stages:
        return lines
    if len(stages) > 1:
        return f"{lines} Colours: the bottleneck; hatching: its stage."
    return f"{lines} Colours: the dominant noise of {stages[0].replace('_', ' ')}."


def _binding(plane: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(cell["stage"] or "", cell["term"] or "") for cell in plane["cells"]]


def _stages(plane: Mapping[str, Any]) -> list[str]:
    """The stages that are a bottleneck somewhere; none if the law has no noises."""
    return sorted({stage for stage, _ in _binding(plane)} - {""})


def _hatch(stage: str, plane: Mapping[str, Any]) -> str:
    """The pattern of a stage; a map of one stage needs none."""
    return _HATCH[stage] if len(_stages(plane)) > 1 else ""


def _draw(axes: Axes, plane: Mapping[str, Any]) -> None:
    xs, ys = plane["x"]["values"], plane["y"]["values"]
    shape = len(ys), len(xs)
    binding = _binding(plane)
    kinds = sorted(set(binding))
    codes = np.array([kinds.index(kind) for kind in binding]).reshape(shape)
    predicted = layout.columns(plane["cells"], "predicted").reshape(shape)
    colours = ListedColormap([_COLOUR[term] for _, term in kinds])
    ends = BoundaryNorm(np.arange(len(kinds) + 1) - 0.5, len(kinds))
    axes.pcolormesh(xs, ys, codes, cmap=colours, norm=ends, alpha=_PALE, rasterized=True)
    for stage in {stage for stage, _ in kinds if _hatch(stage, plane)}:
        here = np.array([of == stage for of, _ in binding], float).reshape(shape)
        axes.contourf(xs, ys, here, levels=(0.5, 1.5), colors="none", hatches=[_HATCH[stage]])
    # The labels of lines are placed for axes as they are.
    label_size_axes(axes, plane["x"]["name"], plane["y"]["name"])
    axes.set_xlim(xs[0], xs[-1])
    axes.set_ylim(ys[0], ys[-1])
    levels = plane.get("levels", _LEVELS)
    widths = [1.4 if level == 0.5 else 0.7 for level in levels]
    lines = axes.contour(xs, ys, predicted, levels=levels, colors="black", linewidths=widths)
    for label in axes.clabel(lines, fmt="%g", fontsize=7):
        label.set_rotation(0)  # upright, 0.9 is not taken for 6.0
    if "budget" in plane:
        _draw_budget(axes, plane)


def _draw_budget(axes: Axes, plane: Mapping[str, Any]) -> None:
    """The line that a budget ends at, and the best sizes within it; one without y has a line."""
    at, top = np.maximum(plane["line"], 0.5).T  # below 1 is below the axis
    axes.plot(at, top, color="black", linestyle="--", linewidth=2, label=plane["budget"])
    for mark, marker in zip(plane["marks"], "*D", strict=False):
        look = {"color": "black", "markersize": 9 if marker == "*" else 5, "label": mark["label"]}
        if mark["y"] is None:
            axes.axvline(mark["x"], linestyle=":", linewidth=2, **look)
        else:
            axes.plot([mark["x"]], [mark["y"]], marker, **look)


def _handles(axes: Axes, plane: Mapping[str, Any]) -> list[Artist]:
    regions = [
        Patch(
            facecolor=to_rgba(_COLOUR[term], _PALE),
            hatch=_hatch(stage, plane),
            label=bottleneck_label(stage, term, len(_stages(plane))),
        )
        for stage, term in sorted(set(_binding(plane)) - {_NOTHING})
    ]
    return [*regions, *axes.get_legend_handles_labels()[0]]
