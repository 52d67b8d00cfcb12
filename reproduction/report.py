"""The report: one page that says what was stated, what was measured, and what follows.

The page is self-contained: styles, figures and numbers are in it, it runs no script and fetches
nothing.
"""

from __future__ import annotations

import datetime
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow.compute as pc

from recallscope.common.csv_files import csv_text
from recallscope.common.formatting import format_duration, format_number, format_range
from recallscope.plot.pages import check_page, page_styles, page_template, shown_panel, write_page
from recallscope.statistics.intervals import Interval
from reproduction.evidence import Evidence
from reproduction.predictions import FIRST, LATER, file_hash, known_before
from reproduction.statement import Finding, Statement
from reproduction.verdict import LEVEL, Verdict, tally

if TYPE_CHECKING:
    from markupsafe import Markup

COLUMN = 3.25  # inches, of a figure: one column of a paper
_MOST_ROWS = 200  # on the page; the CSV has all

Findings = Sequence[tuple[Statement, Finding | None]]


@dataclass(frozen=True, kw_only=True)
class ReportFacts:
    """What a reader needs to make the report again.

    Attributes:
        size: of the runs, such as "full".
        date: when it was made, as text.
        revision: of the code.
        runs: how many there were.
        time: how long they took, as text.
        commands: that make all of it again.
        versions: of Python and the packages, by name.
        hashes: of the files of predictions, a line each.
    """

    size: str
    date: str
    revision: str
    runs: int
    time: str
    commands: Sequence[str]
    versions: Mapping[str, str]
    hashes: Sequence[str]


def facts_about(evidence: Evidence, findings: Findings, size: str) -> ReportFacts:
    """What a reader needs to make a report again, from the columns of its runs."""
    measured = [statement for statement, outcome in findings if outcome]
    runs = evidence.of(sweep for statement in measured for sweep in statement.sweeps)
    seconds = pc.sum(runs["elapsed_seconds"]).as_py() or 0.0
    made_with = [json.loads(text) for text in pc.unique(runs["versions"]).to_pylist()]
    packages = sorted({package for versions in made_with for package in versions})
    return ReportFacts(
        size=size,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        revision=", ".join(sorted(filter(None, pc.unique(runs["revision"]).to_pylist()))),
        runs=len(runs),
        time=f"{format_duration(seconds)} of one core in all",
        commands=[
            f"python -m reproduction run all --size {size}",
            f"python -m reproduction report --size {size}",
        ],
        versions={
            package: ", ".join(sorted({versions.get(package, "none") for versions in made_with}))
            for package in packages
        },
        hashes=[f"{file_hash(path)}  {path.name}" for path in (FIRST, LATER)],
    )


def write_report(
    path: str | Path,
    findings: Findings,
    facts: ReportFacts,
    progress: Callable[[float, float], None] = lambda done, total: None,
) -> None:
    """Write the page; it is moved to its place when it is complete."""
    path = check_page(path)
    write_page(report_page(findings, facts, progress), path)


def write_figures(findings: Iterable[Finding], folder: Path) -> list[Path]:
    """Write the figure of each finding for print, at the width of a column, and its caption."""
    from recallscope.plot.picture import picture_figure  # loads matplotlib
    from recallscope.plot.style import save, write_caption

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for outcome in findings:
        figure = picture_figure(outcome.picture, outcome.title, width=COLUMN, caption=False)
        for kind in ("pdf", "png"):
            written.append(folder / f"{outcome.statement.name}.{kind}")
            save(figure, written[-1])
        write_caption(outcome.picture.caption, written[-1])
    return written


def report_page(
    findings: Findings,
    facts: ReportFacts,
    progress: Callable[[float, float], None] = lambda done, total: None,
) -> str:
    """The page, as HTML."""
    template = page_template(
        Path(__file__).with_name("report.html.j2").read_text(encoding="utf-8"),
        mean=_mean,
        format_range=format_range,
        raised=_raised,
    )
    numbers = itertools.count(1)
    shown = []
    for place, (statement, outcome) in enumerate(findings, start=1):
        number = next(numbers) if statement.of_the_paper else None
        shown.append({**_shown(statement, outcome), "number": number})
        progress(place, len(findings))
    of_paper, others = (
        [row["verdict"] for row in shown if bool(row["number"]) is by] for by in (True, False)
    )
    return template.render(
        statements=shown,
        count=len(of_paper),
        tally=tally(of_paper, others, sum(of_finding.from_abstract for of_finding, _ in findings)),
        facts=facts,
        level=f"{100 * LEVEL:g} %",
        css=page_styles(),
    )


def _raised(text: str) -> Markup:
    """Text with exponents such as d^−1.4 as superscripts."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"\^(−?\d+(?:\.\d+)?)", r"<sup>\1</sup>", str(escape(text))))


def _shown(statement: Statement, outcome: Finding | None) -> dict[str, Any]:
    """What the template needs of one statement."""
    verdict = Verdict.NOT_YET_MEASURED if outcome is None else outcome.verdict
    shown = {
        "statement": statement,
        "finding": outcome,
        "anchor": f"statement-{statement.name}",
        "verdict": verdict,
        "known": known_before(statement.name),
        # Why a verdict is not that of the predictions; shown in the place of its meaning.
        "reason": outcome is not None and (statement.undecided or statement.untestable),
    }
    if outcome is None:
        return {**shown, "short": verdict.meaning}
    head = list(dict.fromkeys(name for row in outcome.rows for name in row))
    return {
        **shown,
        "short": _first_sentence(outcome.answer) or verdict.meaning,
        "panels": [shown_panel(panel) for panel in outcome.picture.panels],
        "head": head,
        "rows": [[_cell(row.get(name)) for name in head] for row in outcome.rows[:_MOST_ROWS]],
        "csv": f"data:text/csv;charset=utf-8,{quote(csv_text(head, outcome.rows))}",
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
