"""The report: one page that says what was claimed, what was measured, and what follows.

The page needs nothing but itself: styles, figures and numbers are in it, it runs no script and asks
no one for anything. Figures for print are written beside it.
"""

from __future__ import annotations

import base64
import csv
import importlib
import io
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from recallscope.common.csv_files import check_output
from recallscope.common.extras import missing
from recallscope.common.formatting import format_number, format_range
from recallscope.common.new_files import written_beside
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.figures import write_figure
from recallscope.paper.predictions import known_before
from recallscope.paper.provenance import ReportFacts
from recallscope.paper.verdict import LEVEL, Verdict, tally
from recallscope.plotting.panels import Panel, Picture
from recallscope.plotting.pictures import picture_figure
from recallscope.plotting.style import draw
from recallscope.problem import ProblemError
from recallscope.statistics.intervals import Interval

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

_SIGNS = {
    Verdict.SUPPORTED: "✓",
    Verdict.CONTRADICTED: "✗",
    Verdict.INCONCLUSIVE: "?",
    Verdict.NOT_YET_MEASURED: "–",
}
_PANEL_WIDTH = 3.25  # inches: as wide as a phone, so that text is read without zooming
_MOST_ROWS = 200  # on the page; the CSV has all


def report(
    claims: Sequence[tuple[Claim, Finding | None]],
    facts: ReportFacts,
    figures: str = "report-figures",
) -> str:
    """The page, as HTML; `figures` is the folder beside it that its links to PDFs name."""
    template = _template()
    numbers = itertools.count(1)
    shown = [
        {**_shown(claim, finding, figures), "number": next(numbers) if claim.of_the_paper else None}
        for claim, finding in claims
    ]
    of_paper, others = (
        [each["verdict"] for each in shown if bool(each["number"]) is by] for by in (True, False)
    )
    return template.render(
        claims=shown,
        count=_in_words(len(of_paper)),
        tally=tally(of_paper, others),
        facts=facts,
        level=f"{100 * LEVEL:g} %",
        signs=_SIGNS,
        css=_text("report.css"),
    )


def write_report(
    path: str | Path,
    claims: Sequence[tuple[Claim, Finding | None]],
    facts: ReportFacts,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Path]:
    """Write the page, and beside it a folder with each figure as PDF; where these are.

    Figures come first and every file is moved to its place when it is whole, so that a page never
    has a link to what is not there.
    """
    path = check_output(path, "report", (".html",))
    folder = path.with_name(f"{path.stem}-figures")
    page = report(claims, facts, folder.name)
    figures: list[Path] = []
    with written_beside(path, "report") as part:
        for number, (claim, finding) in enumerate(claims, start=1):
            progress(number, len(claims))
            if finding is not None and finding.picture.panels:
                folder.mkdir(exist_ok=True)
                figures += write_figure(claim, finding, folder, ["pdf"])
        part.write_text(page, encoding="utf-8")
    return figures


def check_packages() -> None:
    """Raise if a package is missing that a report needs, before anything is worked out."""
    try:
        importlib.import_module("jinja2")
    except ModuleNotFoundError:
        raise ProblemError(missing("jinja2")) from None


def _template() -> Template:
    check_packages()
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(mean=_mean, format_range=format_range, raised=_raised)
    return environment.from_string(_text("report.html.j2"))


def _raised(text: str) -> Markup:
    """Text in which powers such as d^−1.4 are raised."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"\^(−?\d+(?:\.\d+)?)", r"<sup>\1</sup>", str(escape(text))))


def _text(name: str) -> str:
    return files("recallscope.paper").joinpath(name).read_text(encoding="utf-8")


def _shown(claim: Claim, finding: Finding | None, figures: str) -> dict[str, Any]:
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
    panels = [
        {"title": panel.title, "described": _described(panel), "drawn": _svg(panel)}
        for panel in finding.picture.panels
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
        "csv": f"data:text/csv;charset=utf-8,{quote(_csv(head, finding.rows))}",
    }


def _described(panel: Panel) -> str:
    """A panel for those who cannot see it; its numbers are in the table."""
    series = "; ".join(f"{series.label} ({series.kind})" for series in panel.series)
    return f"{panel.title}: {panel.y} against {panel.x}. Shown: {series or 'nothing yet'}."


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
    if isinstance(value, float) and not value.is_integer():
        return format_number(value, 4)
    if isinstance(value, float):
        return format_number(value, 7)
    return "" if value is None else str(value)


def _csv(head: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, head)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _svg(panel: Panel) -> str:
    """A panel as an address that holds all of it; the page has its title."""
    drawn = io.BytesIO()
    alone = Picture(caption="", panels=[replace(panel, title="")])
    draw(picture_figure(alone, "", width=_PANEL_WIDTH), drawn, "svg")
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn.getvalue()).decode()}"


def _in_words(count: int) -> str:
    small = (
        "none",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
    )
    return small[count] if count < len(small) else str(count)
