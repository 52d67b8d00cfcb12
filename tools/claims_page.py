"""The pages of the statements, written from the runs that come with the package.

    python tools/claims_page.py

writes docs/results.md, a page and a figure for each statement in docs/claims, and removes pages of
statements that are no more. A test compares the pages with the runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recallscope.common.formatting import format_duration, format_number, format_range
from recallscope.paper.bundle import bundled_evidence, manifest
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.predictions import known_before
from recallscope.paper.registry import CLAIMS, finding
from recallscope.paper.verdict import LEVEL, Verdict, tally
from recallscope.plotting.picture import picture_figure
from recallscope.plotting.style import save

DOCS = Path(__file__).parents[1] / "docs"
OVERVIEW, METHOD = "results.md", "claims/method.md"

Findings = Sequence[tuple[Claim, Finding]]

_SMOKE, _SHORT = "3 min 11 s on two cores, with other work alongside", "not timed"
_FULL = "80 min on two cores with much other work alongside"
"""Times on the wall, as they were read."""

_COLUMN = 3.25  # inches, of a figure: one column of a paper, and read on a phone
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


def pages(findings: Findings, about: dict[str, Any]) -> dict[str, str]:
    """Every page in Markdown, by its path below docs."""
    each = {f"claims/{claim.name}.md": _page(claim, found) for claim, found in findings}
    return {OVERVIEW: _overview(findings, about), METHOD: _method(findings, about), **each}


def figures() -> set[str]:
    """The figures of the pages, by their paths below docs."""
    return {f"claims/{name}.png" for name in CLAIMS}


def _overview(findings: Findings, about: dict[str, Any]) -> str:
    of_paper, others = (
        [(claim, found) for claim, found in findings if claim.of_the_paper is by]
        for by in (True, False)
    )
    rows = [*enumerate(of_paper, start=1), *(("not the paper's", each) for each in others)]
    verdicts = ([found.verdict for _, found in group] for group in (of_paper, others))
    runs = f"{about['runs'] + about['readings']:,} runs"
    found_of = {claim.name: found for claim, found in findings}
    tight = [format_number(each.measured.mean) for each in found_of["tight"].judgements[:2]]
    return _filled(
        "results.md",
        **{name: found.verdict for name, found in found_of.items()},
        tight_ratio=" to ".join(tight),
        tally=tally(*verdicts, from_abstract=sum(claim.from_abstract for claim, _ in of_paper)),
        table="\n".join(
            f"| {number} | {_link(claim)} | {_where(claim)} | {found.verdict} | "
            f"{_deciding(claim, found)} |"
            for number, (claim, found) in rows
        ),
        caveats="\n".join(
            f"- [{claim.name}](claims/{claim.name}.md): {claim.caveat}"
            for claim, _ in findings
            if claim.caveat
        ),
        time=f"{format_duration(about['core_seconds'])} of one core in {runs}; {_FULL}",
        smoke=_SMOKE,
        short=_SHORT,
    )


def _link(claim: Claim) -> str:
    return f"[{claim.title}](claims/{claim.name}.md)"


def _where(claim: Claim) -> str:
    """Where a statement is from, in a word or two each."""
    return ", ".join(source for source in _SOURCES if source in claim.source)


def _deciding(claim: Claim, found: Finding) -> str:
    prediction, in_short = _DECIDES[claim.name]
    (each,) = (each for each in found.judgements if each.what == prediction)
    mean, interval = format_number(each.measured.mean), format_range(*each.measured[1:])
    return f"{in_short}: **{mean}** ({interval}; {each.expected})"


def _method(findings: Findings, about: dict[str, Any]) -> str:
    of_paper = [found for claim, found in findings if claim.of_the_paper]
    predictions = sum(len(found.judgements) for found in of_paper)
    registered = about["predictions"]
    return _filled(
        "claims_method.md",
        count=len(of_paper),
        predictions=predictions,
        chance=f"{math.ceil(100 * predictions * (1 - LEVEL))} %",
        commit=registered["commit"][:12],
        hash=registered["sha256"][:16],
        seed=f"{min(registered['first_seeds'].values()):,}",
    )


def _filled(name: str, **fields: object) -> str:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    for field, value in fields.items():  # braces of formulas stay
        text = text.replace(f"{{{field}}}", str(value))
    return text


def _page(claim: Claim, found: Finding) -> str:
    rows = "\n".join(
        f"| {each.what} | {format_number(each.measured.mean)} | "
        f"{format_range(*each.measured[1:])} | {each.expected} | {each.verdict} |"
        for each in found.judgements
    )
    caveats = (
        claim.caveat,
        found.untestable and f"Not testable: {found.untestable}",
        found.undecided and f"Open: {found.undecided}",
    )
    caveat = "".join(f"*Caveat:* {each}\n\n" for each in caveats if each)
    sweeps = ", ".join(f"`{name}`" for name in claim.sweeps)
    failed = [each.what for each in found.judgements if each.verdict is not Verdict.SUPPORTED]
    unmet = f"*Predictions that are not supported:* {'; '.join(failed)}.\n\n" if failed else ""
    return f"""\
# {claim.title}

**{str(found.verdict).capitalize()}.** {claim.statement}

*Source:* {claim.source}

{caveat}[![{_figure_title(claim, found)}]({claim.name}.png)]({claim.name}.png)

## Question

{claim.background}

## How it was tested

*Would support it:* {claim.support}

*Would contradict it:* {claim.contradict}

*Known before:* {known_before(claim.name)}

*Sweeps:* {sweeps}. Run them with `recallscope paper run {claim.name} --size full`.

## What was found

{found.answer}

*In practice:* {found.in_practice or "undecided."}

| prediction | measured | 99.5 % interval | expected range | verdict |
|---|---|---|---|---|
{rows}

## What is open

{unmet}*Objection:* {claim.attack}

*Answer:* {found.reply}

[All statements](../results.md) · [How statements are tested](method.md)
"""


def _figure_title(claim: Claim, found: Finding) -> str:
    """The result, if the figure states one."""
    return found.picture.title or claim.title


def findings() -> list[tuple[Claim, Finding]]:
    """What the runs of the bundle say of every statement."""
    evidence = bundled_evidence()
    found = [(claim, finding(claim, evidence)) for claim in CLAIMS.values()]
    return [(claim, each) for claim, each in found if each is not None]


def main() -> None:
    found = findings()
    written = pages(found, manifest())
    folder = DOCS / "claims"
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if f"claims/{path.name}" not in written.keys() | figures():
            path.unlink()
    for claim, each in found:
        figure = picture_figure(each.picture, _figure_title(claim, each), width=_COLUMN)
        save(figure, folder / f"{claim.name}.png")
    for name, text in written.items():
        (DOCS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
