"""The page of the claims, written from the runs that come with the package.

    python tools/claims_page.py

writes docs/claims.md and the figures beside it. A test compares the page with the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recallscope.common.formatting import format_duration, format_number, format_range
from recallscope.executors.serial import Serial
from recallscope.paper.bundle import bundled_evidence, manifest
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.drawings import Drawings
from recallscope.paper.figures import write_figure
from recallscope.paper.predictions import known_before
from recallscope.paper.registry import CLAIMS, finding
from recallscope.paper.verdict import tally

DOCS = Path(__file__).parents[1] / "docs"

HEAD = Path(__file__).with_name("claims_head.md")
_SMOKE, _SHORT = "3 min 11 s, with other work beside it", "not timed"
_FULL = "80 min on two cores with much other work beside it"
"""Times on the wall, as they were read."""


def page(findings: Sequence[tuple[Claim, Finding]], about: dict[str, Any]) -> str:
    """The page, in Markdown."""
    of_paper, others = (
        [(claim, found) for claim, found in findings if claim.of_the_paper is by]
        for by in (True, False)
    )
    rows = [*enumerate(of_paper, start=1), *(("not the paper's", each) for each in others)]
    table = "\n".join(
        f"| {number} | [{claim.title}](#{claim.name}) | {found.verdict} |"
        for number, (claim, found) in rows
    )
    verdicts = ([found.verdict for _, found in group] for group in (of_paper, others))
    counted = tally(*verdicts, from_abstract=sum(claim.from_abstract for claim, _ in of_paper))
    caveats = "\n".join(
        f"- [{claim.title}](#{claim.name}): {claim.caveat}" for claim, _ in findings if claim.caveat
    )
    runs = f"{about['runs'] + about['readings']:,} runs"
    time = f"{format_duration(about['core_seconds'])} of one core in {runs}; {_FULL}"
    sealed = about["predictions"]
    head = HEAD.read_text(encoding="utf-8").format(
        table=table,
        tally=counted,
        caveats=caveats,
        time=time,
        smoke=_SMOKE,
        short=_SHORT,
        commit=sealed["commit"][:12],
        hash=sealed["sha256"][:16],
        seed=f"{min(sealed['first_seeds'].values()):,}",
    )
    return f"{head}\n" + "\n".join(_section(*each) for each in findings)


def _section(claim: Claim, found: Finding) -> str:
    rows = "\n".join(
        f"| {each.what} | {format_number(each.measured.mean)} | "
        f"{format_range(*each.measured[1:])} | {each.expected} | {each.verdict} |"
        for each in found.judgements
    )
    caveats = (claim.caveat, found.untestable and f"Not testable: {found.untestable}")
    caveat = "".join(f"*{each}*\n\n" for each in caveats if each)
    return f"""\
## {claim.title} {{#{claim.name}}}

**{str(found.verdict).capitalize()}.** {claim.statement}

*Said where:* {claim.source}

{caveat}{claim.background}

*Known before:* {known_before(claim.name)}

*Would support it:* {claim.support}

*Would contradict it:* {claim.contradict}

[![{claim.title}](claims/{claim.name}.png)](claims/{claim.name}.png)

{found.answer}

*In practice:* {found.in_practice or "undecided."}

*A referee's attack:* {claim.attack} *The answer:* {found.reply}

| prediction | measured | 99.5 % interval | expected range | verdict |
|---|---|---|---|---|
{rows}
"""


def findings() -> list[tuple[Claim, Finding]]:
    """What the runs of the bundle say of every claim."""
    evidence = bundled_evidence()
    found = [(claim, finding(claim, evidence)) for claim in CLAIMS.values()]
    return [(claim, each) for claim, each in found if each is not None]


def main() -> None:
    found = findings()
    (DOCS / "claims").mkdir(exist_ok=True)
    drawn = Drawings(Serial())
    for claim, each in found:
        write_figure(drawn, claim, each, DOCS / "claims", kinds=("png",))
    (DOCS / "claims.md").write_text(page(found, manifest()), encoding="utf-8")


if __name__ == "__main__":
    main()
