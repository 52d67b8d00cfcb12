"""What was found of a claim: its predictions judged, and findings.toml with its numbers."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from recallscope.paper.claim import Finding
from recallscope.paper.intervals import shown
from recallscope.paper.predictions import judged
from recallscope.parts.data_files import data_next_to
from recallscope.results.panels import Panel, Picture, Series
from recallscope.statistics.intervals import Interval


class _Sentences(string.Formatter):
    """Text with numbers in it; the format of an interval is how many digits it has."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Interval):
            return shown(value, int(format_spec or 2))
        return str(super().format_field(value, format_spec))


def finding_of(
    claim: str,
    *,
    series: Sequence[Sequence[Series]],
    rows: Sequence[dict[str, Any]],
    **numbers: Any,
) -> Finding:
    """The finding of a claim, in the sentences of findings.toml.

    Args:
        claim: its name.
        series: of each panel of the figure.
        rows: the numbers behind it.
        numbers: those that it predicts, and those in its sentences.
    """
    written, sentences = data_next_to(__file__, "findings.toml")[claim], _Sentences()

    def said(text: str) -> str:
        return sentences.vformat(" ".join(text.split()), (), numbers)

    measured = {
        what: sentences.get_field(number, (), numbers)[0]
        for what, number in written["predictions"].items()
    }

    panels = [
        Panel(**panel | {"title": said(panel.get("title", ""))}, series=each)
        for panel, each in zip(written["panels"], series, strict=True)
    ]
    return Finding(
        judgements=judged(claim, measured),
        answer=said(written["answer"]),
        reply=said(written["reply"]),
        practice=said(written.get("practice", "")),
        picture=Picture(
            caption=said(written["caption"]), title=said(written.get("title", "")), panels=panels
        ),
        rows=rows,
    )
