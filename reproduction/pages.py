"""The pages of the statements in the documentation, written from the runs of the bundle.

`python -m reproduction pages` writes docs/results.md, a page and a figure for each statement in
docs/statements, and removes pages of statements that are no more. A test compares them with the
runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pyarrow.compute as pc

from recallscope.common.formatting import format_duration, format_number, format_range
from recallscope.plot.picture import picture_figure
from recallscope.plot.style import save
from reproduction.evidence import BUNDLE, Evidence
from reproduction.predictions import COMMITS, FIRST, file_hash, first_seed, known_before
from reproduction.report import COLUMN
from reproduction.statement import Finding, Statement
from reproduction.statements import STATEMENTS, finding
from reproduction.verdict import LEVEL, Verdict, tally

DOCS = Path(__file__).parents[1] / "docs"
_WIDE = 6.75  # inches, of a figure with panels side by side
OVERVIEW, METHOD = "results.md", "statements/method.md"

Findings = Sequence[Finding]

_SMALL = "6 min of one core, on a busy machine"
_SHORT = "19 min of one core, on a busy machine"
_FULL = "80 min on two cores with much other work alongside"
"""Times of a core, or on the wall, as they were read."""

_SOURCES = ("abstract", "reading notes", "digest", "review", "news summary")

_DECIDES = {
    "products": (
        "combining power of d and L in N*",
        "exponent that combines d and L in N* (0 product, 1 sum)",
    ),
    "directions": (
        "change of recall when L rises, attention alone",
        "smallest effect, change of recall when L rises",
    ),
    "two-by-two": (
        "observed over predicted N*: small d, short L",
        "measured over predicted N*, worst corner",
    ),
    "orthogonal": (
        "N* of random embeddings, d < V over d > V",
        "N* of random embeddings, d < V over d > V",
    ),
    "orthogonal-capacity": (
        "facts recalled, random over orthogonal, equal parameters, smallest",
        "facts recalled, random over orthogonal, equal parameters",
    ),
    "finite-data": (
        "facts from the smaller batch over facts from all data, largest d",
        "facts stored, 4,096 samples over infinite data",
    ),
    "trade-off": (
        "power of d in facts per parameter, N = ∞",
        "exponent of d in facts per parameter",
    ),
    "mlp-regimes": (
        "power of d in the width m* that MLP noise asks for",
        "exponent of d in the MLP width needed",
    ),
    "first-steps": (
        "lock gained after the first steps, saturating steps",
        "attention accuracy gained after large first steps",
    ),
    "oscillations": (
        "loss at the large over the small step, fewer dimensions than the edge",
        "final loss, large over small steps, few dimensions",
    ),
    "lower-bound": (
        "smallest N* + V of any decoder over the bound's",
        "smallest N* + V of any decoder over our bound's",
    ),
    "tight": (
        "smallest N* of three steps over the bound",
        "smallest N* of three steps over our bound",
    ),
    "news": (
        "how far powers are from those of d·L, in the nearer reading",
        "distance of exponents from those of d·L",
    ),
}
"""For each statement the prediction that the overview quotes, and what it is in fewer words."""


def pages(findings: Findings, evidence: Evidence) -> dict[str, str]:
    """Return every page in Markdown, by its path below docs."""
    of_statements = {
        f"statements/{outcome.statement.name}.md": _page(outcome) for outcome in findings
    }
    return {OVERVIEW: _overview(findings, evidence), METHOD: _method(findings), **of_statements}


def figures() -> set[str]:
    """The figures of the pages, by their paths below docs."""
    return {f"statements/{name}.png" for name in STATEMENTS}


def _overview(findings: Findings, evidence: Evidence) -> str:
    of_paper = [outcome for outcome in findings if outcome.statement.of_the_paper]
    others = [outcome for outcome in findings if not outcome.statement.of_the_paper]
    numbered = [
        *enumerate(of_paper, start=1),
        *(("not the paper's", outcome) for outcome in others),
    ]
    by_name = {outcome.statement.name: outcome for outcome in findings}
    tight = [
        format_number(judgement.measured.mean) for judgement in by_name["tight"].judgements[:2]
    ]
    seconds = pc.sum(evidence.table["elapsed_seconds"]).as_py()
    return _filled(
        "results.md",
        **{name: outcome.verdict for name, outcome in by_name.items()},
        tight_ratio=" to ".join(tight),
        tally=tally(
            [outcome.verdict for outcome in of_paper],
            [outcome.verdict for outcome in others],
            sum(outcome.statement.from_abstract for outcome in of_paper),
        ),
        table="\n".join(
            f"| {number} | {_link(outcome.statement)} | {_where(outcome.statement)} | "
            f"{outcome.verdict} | {_deciding(outcome)} |"
            for number, outcome in numbered
        ),
        caveats="\n".join(
            f"- [{outcome.statement.name}](statements/{outcome.statement.name}.md): "
            f"{outcome.statement.caveat}"
            for outcome in findings
            if outcome.statement.caveat
        ),
        time=f"{format_duration(seconds)} of one core in {len(evidence.table):,} runs; {_FULL}",
        small=_SMALL,
        short=_SHORT,
    )


def _link(statement: Statement) -> str:
    return f"[{statement.title}](statements/{statement.name}.md)"


def _where(statement: Statement) -> str:
    """Where a statement is from, in a word or two each."""
    return ", ".join(source for source in _SOURCES if source in statement.source)


def _deciding(outcome: Finding) -> str:
    prediction, in_short = _DECIDES[outcome.statement.name]
    (deciding,) = (judgement for judgement in outcome.judgements if judgement.what == prediction)
    mean, low, high = deciding.measured
    return f"{in_short}: **{format_number(mean)}** ({format_range(low, high)}; {deciding.expected})"


def _method(findings: Findings) -> str:
    of_paper = [outcome for outcome in findings if outcome.statement.of_the_paper]
    predictions = sum(len(outcome.judgements) for outcome in of_paper)
    return _filled(
        "method.md",
        count=len(of_paper),
        predictions=predictions,
        chance=f"{math.ceil(100 * predictions * (1 - LEVEL))} %",
        commit=COMMITS[FIRST][:12],
        hash=file_hash(FIRST)[:16],
        seed=f"{first_seed(FIRST):,}",
    )


def _filled(name: str, **fields: object) -> str:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    for field, value in fields.items():  # braces of formulas stay
        text = text.replace(f"{{{field}}}", str(value))
    return text


def _is_wide(outcome: Finding) -> bool:
    return len(outcome.picture.panels) > 1


def _page(outcome: Finding) -> str:
    statement = outcome.statement
    rows = "\n".join(
        f"| {judgement.what} | {format_number(judgement.measured.mean)} | "
        f"{format_range(*judgement.measured[1:])} | {judgement.expected} | {judgement.verdict} |"
        for judgement in outcome.judgements
    )
    caveats = (
        statement.caveat,
        statement.untestable and f"Not testable: {statement.untestable}",
        statement.undecided and f"Open: {statement.undecided}",
    )
    caveat = "".join(f"*Caveat:* {sentence}\n\n" for sentence in caveats if sentence)
    sweeps = ", ".join(f"`{sweep.name}`" for sweep in statement.sweeps)
    failed = [
        judgement.what
        for judgement in outcome.judgements
        if judgement.verdict is not Verdict.SUPPORTED
    ]
    unmet = f"*Predictions that are not supported:* {'; '.join(failed)}.\n\n" if failed else ""
    file = statement.name.replace("-", "_")
    size = "" if _is_wide(outcome) else '{ width="390" }'
    caption = outcome.picture.caption.replace("*", r"\*")  # as in N*
    return f"""\
# {statement.title}

**{str(outcome.verdict).capitalize()}.** {statement.statement}

*Source:* {statement.source}

{caveat}[![{outcome.title}]({statement.name}.png){size}]({statement.name}.png)

*{caption}*

## Question

{statement.background}

## How it was tested

*Would support it:* {statement.support}

*Would contradict it:* {statement.contradict}

*Known before:* {known_before(statement.name)}

*Sweeps:* {sweeps}. They and the analysis are in `reproduction/statements/{file}.py`; run them with
`python -m reproduction run {statement.name} --size full`.

## What was found

{outcome.answer}

*In practice:* {outcome.in_practice or "undecided."}

| prediction | measured | 99.5 % interval | expected range | verdict |
|---|---|---|---|---|
{rows}

## What is open

{unmet}*Objection:* {statement.attack}

*Answer:* {outcome.reply}

[All statements](../results.md) · [How statements are tested](method.md)
"""


def write_pages() -> None:
    """Write all pages and their figures."""
    evidence = Evidence.at(BUNDLE)
    findings = [finding(statement, evidence) for statement in STATEMENTS.values()]
    measured = [outcome for outcome in findings if outcome is not None]
    written = pages(measured, evidence)
    folder = DOCS / "statements"
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if f"statements/{path.name}" not in written.keys() | figures():
            path.unlink()
    for outcome in measured:
        width = _WIDE if _is_wide(outcome) else COLUMN
        figure = picture_figure(outcome.picture, outcome.title, width=width, caption=False)
        save(figure, folder / f"{outcome.statement.name}.png")
    for name, text in written.items():
        (DOCS / name).write_text(text, encoding="utf-8")
