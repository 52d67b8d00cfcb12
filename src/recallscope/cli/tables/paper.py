"""The paper's claims, as tables."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from recallscope.cli.tables.output import print_table
from recallscope.cli.terminal import console, printable_lines

if TYPE_CHECKING:
    from recallscope.paper.claim import Claim, Finding


def print_claims(claims: list[dict[str, Any]]) -> None:
    """Each claim with its title, its verdict, and how its predictions fared; then what to know."""
    from recallscope.paper.verdict import Verdict, tally

    rows: list[tuple[str, ...] | None] = []
    of_paper, others = (
        [each for each in claims if each["of_the_paper"] is by] for by in (True, False)
    )
    for group in (of_paper, others):
        for claim in group:
            held = sum(each["verdict"] == "supported" for each in claim["evidence"])
            fared = f"{held} of {len(claim['evidence'])}" if claim["evidence"] else "–"
            rows.append((claim["name"], claim["title"], claim["verdict"], fared))
        rows.append(None)
    print_table(("name", "claim", "verdict", "hold"), rows, right=slice(0))
    verdicts = ([Verdict(each["verdict"]) for each in group] for group in (of_paper, others))
    caveats = [f"{each['name']}: {each['caveat']}" for each in claims if each["caveat"]]
    hold = "hold: how many of a claim's predictions are supported."
    abstract = sum(each["from_abstract"] for each in of_paper)
    for text in (hold, tally(next(verdicts), next(verdicts), abstract), *caveats):
        print(textwrap.fill(text, 80))


def print_finding(claim: Claim, found: Finding | None) -> None:
    """A claim, what was found, and each prediction with its interval."""
    from recallscope.common.formatting import format_number, format_range
    from recallscope.paper.verdict import LEVEL

    shown = console()
    verdict = "not yet measured" if found is None else found.verdict
    shown.print(f"\n{claim.title}: {verdict}", style="bold")
    shown.print(claim.statement)
    if claim.caveat:
        shown.print(claim.caveat)
    if found is None:
        return
    rows = []
    for each in found.judgements:
        mean, low, high = each.measured
        interval = format_range(low, high)
        rows.append((each.what, format_number(mean), interval, each.expected, str(each.verdict)))
    interval_of = f"{100 * LEVEL:g} % interval"
    head = ("prediction", "measured", interval_of, "expected range", "verdict")
    print_table(head, rows, right=slice(0))
    shown.print(printable_lines(found.answer))
    for text in (found.in_practice, found.untestable and f"Not testable: {found.untestable}"):
        if text:
            shown.print(printable_lines(text))
    if found.lost:
        shown.print(f"{found.lost} runs failed or are infeasible, and are no evidence.")
