"""The picture of a phase map: which noise binds where, and where recall succeeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from recallscope.plotting.labels import accuracy_label
from recallscope.plotting.style import COLOURS, label_size_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEVELS = (0.1, 0.5, 0.9)


def phase_map_figure(plane: Mapping[str, Any], title: str = "") -> Figure:
    """Regions by binding noise, with lines of equal predicted accuracy.

    Args:
        plane: as `PhaseMap.figure_data` gives it; what `recallscope phase --json` prints will do
            too. It has

            - `x` and `y`: the `name` of a size and its `values`;
            - `accuracy`: the name of the one predicted;
            - `cells`: rows of `predicted`, `stage` and `term`, along x first, then along y.
        title: a line above the figure.
    """
    xs, ys = plane["x"]["values"], plane["y"]["values"]
    shape = len(ys), len(xs)
    names = [f"{cell['stage']}: {cell['term']}".replace("_", " ") for cell in plane["cells"]]
    kinds = sorted(set(names))
    codes = np.array([kinds.index(name) for name in names]).reshape(shape)
    predicted = np.array([cell["predicted"] for cell in plane["cells"]]).reshape(shape)
    figure = new_figure(5.4, 3.6)
    axes = figure.subplots()
    axes.pcolormesh(
        xs,
        ys,
        codes,
        cmap=ListedColormap(COLOURS[: len(kinds)]),
        vmin=-0.5,
        vmax=len(kinds) - 0.5,
        alpha=0.45,
        rasterized=True,
    )
    lines = axes.contour(
        xs, ys, predicted, levels=_LEVELS, colors="black", linewidths=(0.7, 1.4, 0.7)
    )
    axes.clabel(lines, fmt="%g", fontsize=7)
    label_size_axes(axes, plane["x"]["name"], plane["y"]["name"])
    accuracy = accuracy_label(plane["accuracy"])
    lines_say = f"Lines: predicted {accuracy}. Colours: the noise that binds."
    figure.suptitle(f"{title}\n{lines_say}" if title else lines_say, fontsize=7)
    patches = [
        Patch(facecolor=colour, alpha=0.45, label=kind)
        for colour, kind in zip(COLOURS, kinds, strict=False)
    ]
    figure.legend(handles=patches, loc="outside right center", fontsize=7, frameon=False)
    return figure
