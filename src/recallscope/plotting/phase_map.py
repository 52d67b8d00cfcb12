"""The picture of a phase map: which noise binds where, and where recall succeeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from recallscope.plotting.labels import kind_of
from recallscope.plotting.style import COLOURS, new_figure, sizes_along
from recallscope.theory.capacity import PhaseMap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEVELS = (0.1, 0.5, 0.9)


def phase_figure(plane: PhaseMap, title: str = "") -> Figure:
    """Regions by binding noise, with lines of equal predicted recall."""
    (x_name, xs), (y_name, ys) = plane.x, plane.y
    names = [
        [f"{stage}: {term}".replace("_", " ") for stage, term in zip(*row, strict=True)]
        for row in zip(plane.stage, plane.term, strict=True)
    ]
    kinds = sorted({name for row in names for name in row})
    codes = np.array([[kinds.index(name) for name in row] for row in names])
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
        xs, ys, plane.accuracy, levels=_LEVELS, colors="black", linewidths=(0.7, 1.4, 0.7)
    )
    axes.clabel(lines, fmt="%g", fontsize=7)
    sizes_along(axes, x_name, y_name)
    lines_say = f"Lines: predicted {kind_of(plane.accuracy_name)}. Colours: the noise that binds."
    figure.suptitle(f"{title}\n{lines_say}" if title else lines_say, fontsize=7)
    patches = [
        Patch(facecolor=colour, alpha=0.45, label=kind)
        for colour, kind in zip(COLOURS, kinds, strict=False)
    ]
    figure.legend(handles=patches, loc="outside right center", fontsize=7, frameon=False)
    return figure
