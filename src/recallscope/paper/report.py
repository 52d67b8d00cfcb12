"""The report: one page that says what was claimed, what was measured, and what follows.

The page is self-contained: styles, figures and numbers are in it, it runs no script and fetches
nothing. Figures for print are written next to it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from recallscope.common.csv_files import check_output, csv_text
from recallscope.common.formatting import format_number, format_range
from recallscope.common.new_files import written_next_to
from recallscope.executors.serial import Serial
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.drawings import Drawings
from recallscope.paper.figures import ask_for_figure, write_figure
from recallscope.paper.predictions import known_before
from recallscope.paper.provenance import ReportFacts
from recallscope.paper.verdict import LEVEL, Verdict, tally
from recallscope.plotting.pages import page_styles, page_template, panel_drawing, shown_panel
from recallscope.statistics.intervals import Interval

if TYPE_CHECKING:
    from markupsafe import Markup

_MOST_ROWS = 200  # on the page; the CSV has all
_PRINTED = ("pdf",)  # formats of the figures next to it


def report(
    claims: Sequence[tuple[Claim, Finding | None]],
    facts: ReportFacts,
    figures: str = "report-figures",
    drawn: Drawings | None = None,
) -> str:
    """The page, as HTML; `figures` is the folder next to it, for its links to PDFs."""
    drawn = drawn or Drawings(Serial())
    template = page_template(
        "paper", "report.html.j2", mean=_mean, format_range=format_range, raised=_raised
    )
    numbers = itertools.count(1)
    shown = [
        {
            **_shown(claim, finding, figures, drawn),
            "number": next(numbers) if claim.of_the_paper else None,
        }
        for claim, finding in claims
    ]
    of_paper, others = (
        [each["verdict"] for each in shown if bool(each["number"]) is by] for by in (True, False)
    )
    return template.render(
        claims=shown,
        count=len(of_paper),
        tally=tally(of_paper, others, sum(claim.from_abstract for claim, _ in claims)),
        facts=facts,
        level=f"{100 * LEVEL:g} %",
        css=page_styles(),
    )


def write_report(
    path: str | Path,
    claims: Sequence[tuple[Claim, Finding | None]],
    facts: ReportFacts,
    progress: Callable[[int, int], None] = lambda done, total: None,
    drawn: Drawings | None = None,
) -> list[Path]:
    """Write the page, and next to it a folder with each figure as PDF; return the figures' paths.

    Figures come first, and every file is moved to its place when it is complete. So a page never
    has a broken link.
    """
    path = check_output(path, "report", (".html",))
    folder = path.with_name(f"{path.stem}-figures")
    drawn = drawn or Drawings(Serial())
    page = report(claims, facts, folder.name, drawn)
    figures: list[Path] = []
    with written_next_to(path, "report") as part:
        for number, (claim, finding) in enumerate(claims, start=1):
            progress(number, len(claims))
            if finding is not None and finding.picture.panels:
                folder.mkdir(exist_ok=True)
                figures += write_figure(drawn, claim, finding, folder, _PRINTED)
        part.write_text(page, encoding="utf-8")
    return figures


def ask_for_drawings(drawn: Drawings, claim: Claim, finding: Finding) -> None:
    """Request all drawings of a claim for a report."""
    _ask_for_panels(drawn, claim, finding)
    if finding.picture.panels:
        ask_for_figure(drawn, claim, finding, _PRINTED)


def _ask_for_panels(drawn: Drawings, claim: Claim, finding: Finding) -> None:
    for place, panel in enumerate(finding.picture.panels):
        drawn.ask((claim.name, place), panel_drawing(panel))


def _raised(text: str) -> Markup:
    """Text with exponents such as d^−1.4 as superscripts."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"\^(−?\d+(?:\.\d+)?)", r"<sup>\1</sup>", str(escape(text))))


def _shown(claim: Claim, finding: Finding | None, figures: str, drawn: Drawings) -> dict[str, Any]:
    """What the template needs of one claim."""
    anchor = f"claim-{claim.name}"
    verdict = Verdict.NOT_YET_MEASURED if finding is None else finding.verdict
    shown = {
        "claim": claim,
        "finding": finding,
        "anchor": anchor,
        "verdict": verdict,
        "known": known_before(claim.name),
    }
    if finding is None:
        return {**shown, "short": verdict.advice}
    _ask_for_panels(drawn, claim, finding)
    panels = [
        shown_panel(panel, drawn.take((claim.name, place)))
        for place, panel in enumerate(finding.picture.panels)
    ]
    head = list(dict.fromkeys(name for row in finding.rows for name in row))
    return {
        **shown,
        "short": _first_sentence(finding.answer) or verdict.advice,
        "answer": [text for text in re.split(r"\n\s*\n", finding.answer.strip()) if text],
        "panels": panels,
        "file": f"{quote(figures)}/{quote(claim.name)}",
        "head": head,
        "rows": [[_cell(row.get(name)) for name in head] for row in finding.rows[:_MOST_ROWS]],
        "csv": f"data:text/csv;charset=utf-8,{quote(csv_text(head, finding.rows))}",
    }


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s+(?=[A-Z])", text.strip(), maxsplit=1)[0]


def _mean(measured: Interval) -> str:
    """The mean, to a hundredth of its interval at best.

    >>> _mean(Interval(2e-5, -0.1, 0.1)), _mean(Interval(1.2345, 1.1, 1.4))
    ('0', '1.23')
    """
    mean, low, high = measured
    width = high - low
    if math.isfinite(mean) and math.isfinite(width) and width > 0:
        mean = round(mean, 2 - math.floor(math.log10(width)))
    return format_number(mean)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return format_number(value, 7 if value.is_integer() else 4)
    return "" if value is None else str(value)
