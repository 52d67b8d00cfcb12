"""The figure of a claim, for print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recallscope.common.new_files import write_whole
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.drawings import Drawings
from recallscope.plotting.picture_job import PictureJob

FOR_PRINT = ("pdf", "png")


def ask_for_figure(
    drawn: Drawings, claim: Claim, finding: Finding, kinds: Sequence[str] = FOR_PRINT
) -> None:
    """Request the figure in some formats."""
    title = finding.picture.title or claim.title
    drawn.ask((claim.name, *kinds), PictureJob(finding.picture, title, tuple(kinds)))


def write_figure(
    drawn: Drawings,
    claim: Claim,
    finding: Finding,
    folder: Path,
    kinds: Sequence[str] = FOR_PRINT,
) -> list[Path]:
    """Write the figure in some formats, named after the claim; return the paths."""
    ask_for_figure(drawn, claim, finding, kinds)
    paths = [folder / f"{claim.name}.{kind}" for kind in kinds]
    for path, content in zip(paths, drawn.take((claim.name, *kinds)), strict=True):
        write_whole(path, "figure", content)
    return paths
