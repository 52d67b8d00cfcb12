"""The figure of a claim, for print."""

from __future__ import annotations

from pathlib import Path

from recallscope.paper.claim import Claim, Finding
from recallscope.pictures.for_print import for_print
from recallscope.pictures.style import save


def write_figure(claim: Claim, finding: Finding, folder: Path) -> list[Path]:
    """Write the figure as PDF and PNG, named after the claim; returns where they are."""
    figure = for_print(finding.picture, claim.title)
    paths = [folder / f"{claim.name}.{kind}" for kind in ("pdf", "png")]
    for path in paths:
        save(figure, path)
    return paths
