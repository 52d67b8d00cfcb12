"""The figure of a claim, for print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recallscope.paper.claim import Claim, Finding
from recallscope.plotting.pictures import picture_figure
from recallscope.plotting.style import save


def write_figure(
    claim: Claim, finding: Finding, folder: Path, kinds: Sequence[str] = ("pdf", "png")
) -> list[Path]:
    """Write the figure in some formats, named after the claim; returns where they are."""
    figure = picture_figure(finding.picture, claim.title)
    # Laid out once for all formats.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    paths = [folder / f"{claim.name}.{kind}" for kind in kinds]
    for path in paths:
        save(figure, path)
    return paths
