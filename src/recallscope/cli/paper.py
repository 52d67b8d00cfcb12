"""The commands of the paper's claims: list, run, plot, report."""

from __future__ import annotations

import textwrap
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from recallscope.cli.commands import COMMANDS
from recallscope.cli.execution import resumable, workers_from
from recallscope.cli.options import Asked, Command, command_group, takes
from recallscope.cli.output import print_either, print_json, print_table
from recallscope.cli.terminal import console, printable_lines

if TYPE_CHECKING:
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.paper.claim import Claim, Finding

app = command_group("paper", COMMANDS["paper"])

_OWN_RUNS = "recallscope-paper"  # as in the API, which is not loaded for a list of options


@app.command("list", cls=Command)
@takes("claims", "claim_runs")
def list_claims(size: str, store: str | None, as_json: bool) -> None:
    """List the claims with their verdicts and the evidence.

    \b
    Examples:
      recallscope paper list
      recallscope paper list --json
      recallscope paper list --store recallscope-paper --size smoke
    """
    from recallscope.api.paper import list_claims as listed_claims

    listed = listed_claims(size=size, store=store)
    without_titles = [
        {name: value for name, value in each.items() if name != "title"} for each in listed
    ]
    print_either(as_json, without_titles, _print_claims, listed)


@app.command(cls=Command)
@takes("where", "claim", "claims", store=_OWN_RUNS, executor="processes", size="smoke")
def run(asked: Asked, name: str, size: str, as_json: bool) -> int:
    """Run the sweeps of a claim, and print its verdict. Exit code 1 if a run is not ok.

    Interrupt it at any time: the same command resumes. The time for all claims on two cores is
    three minutes at size smoke and over an hour at size full, which the verdicts rest on.

    \b
    Examples:
      recallscope paper run products --size smoke
      recallscope paper run all --size full --store my-runs
    """
    from recallscope.api.paper import run_claims

    with resumable(), _Displays() as displays:
        where = asked.where | {"workers": workers_from(asked.where)}
        findings = run_claims(name, size=size, **where, progress=displays.show)
    _print_findings(findings, as_json)
    return 1 if any(found is not None and found.lost for _, found in findings) else 0


@app.command(cls=Command)
@takes("claim", "claim_figures", "claims", "claim_runs")
def plot(name: str, to: str, size: str, store: str | None, as_json: bool) -> None:
    """Draw the figure of a claim, or of all, for print.

    \b
    Examples:
      recallscope paper plot products
      recallscope paper plot all --to figures
    """
    from recallscope.api.paper import plot_claims

    with _Displays() as displays:
        figures = plot_claims(to, name, store=store, size=size, progress=displays.show)
    written = [str(path) for path in figures]
    print_either(as_json, {"figures": written}, print, "\n".join(written))


@app.command(cls=Command)
@takes("claim_report", "claims", "claim_runs")
def report(to: str, size: str, store: str | None, as_json: bool) -> None:
    """Write a self-contained HTML report with all verdicts, figures and numbers.

    \b
    Examples:
      recallscope paper report
      recallscope paper report --store recallscope-paper --size smoke --to smoke.html
    """
    from recallscope.api.paper import report_claims

    with _Displays() as displays:
        figures = [
            str(path) for path in report_claims(to, store=store, size=size, progress=displays.show)
        ]
    said = f"{to}, and {len(figures)} figures next to it"
    print_either(as_json, {"report": to, "figures": figures}, print, said)


class _Displays(ExitStack):
    """A display for each stage, one after another."""

    stage = ""
    display: ProgressDisplay | None = None

    def show(self, stage: str, done: float, total: float) -> None:
        from recallscope.cli.progress import ProgressDisplay

        if self.display is None or stage != self.stage:
            self.close()
            self.stage, self.display = stage, self.enter_context(ProgressDisplay(stage))
        self.display.update(done, total)


def _print_findings(found: list[tuple[Claim, Finding | None]], as_json: bool) -> None:
    from recallscope.paper.bundle import summary

    listed = [
        {"name": claim.name, "statement": claim.statement} | summary(each) for claim, each in found
    ]
    if as_json:
        print_json(listed)
        return
    for claim, each in found:
        print_finding(claim, each)


def _print_claims(claims: list[dict[str, Any]]) -> None:
    """Print each claim with its title, its verdict and its supported predictions; then caveats."""
    from recallscope.paper.verdict import Verdict, tally

    rows: list[tuple[object, ...] | None] = []
    of_paper, others = (
        [each for each in claims if each["of_the_paper"] is by] for by in (True, False)
    )
    for group in (of_paper, others):
        for claim in group:
            held = sum(each["verdict"] == "supported" for each in claim["evidence"])
            fared = f"{held} of {len(claim['evidence'])}" if claim["evidence"] else None
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
    """Print a claim, its finding, and each prediction with its interval."""
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
    rows = [
        (each.what, format_number(mean), format_range(low, high), each.expected, each.verdict)
        for each in found.judgements
        for mean, low, high in [each.measured]
    ]
    interval_of = f"{100 * LEVEL:g} % interval"
    head = ("prediction", "measured", interval_of, "expected range", "verdict")
    print_table(head, rows, right=slice(0))
    shown.print(printable_lines(found.answer))
    for text in (found.in_practice, found.untestable and f"Not testable: {found.untestable}"):
        if text:
            shown.print(printable_lines(text))
    if found.lost:
        shown.print(f"{found.lost} runs failed or are infeasible; they do not count as evidence.")
