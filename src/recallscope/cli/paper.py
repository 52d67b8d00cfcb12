"""The commands of the paper's claims: list, run, plot, report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recallscope.cli.execution import executor_from
from recallscope.cli.options import Json, asks_where_to_run
from recallscope.cli.tables.output import print_json
from recallscope.cli.tables.paper import print_claims, print_finding
from recallscope.problem import ProblemError

if TYPE_CHECKING:
    from recallscope.paper.claim import Claim, Finding
    from recallscope.paper.evidence import Evidence

app = typer.Typer(
    name="paper",
    rich_markup_mode=None,
    help="The claims of arXiv 2603.15923: measurements, verdicts and figures.",
)

_OWN_RUNS = "recallscope-paper"

Name = Annotated[str, typer.Argument(metavar="NAME", help="A claim, as listed, or all.")]
Size = Annotated[str, typer.Option(metavar="NAME", help="smoke, short or full.")]
Runs = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="FOLDER", help="Your own runs; by default those that come with this."
    ),
]


@app.command("list")
def list_claims(size: Size = "full", store: Runs = None, as_json: Json = False) -> None:
    """List the claims with their verdicts and what these rest on.

    \b
    Examples:
      recallscope paper list
      recallscope paper list --json
      recallscope paper list --store recallscope-paper --size smoke
    """
    from recallscope.paper.bundle import manifest, summary
    from recallscope.paper.presets import check_size
    from recallscope.paper.registry import CLAIMS

    check_size(size)
    if store is None:
        _only_full(size)
        known = manifest()["claims"]
    else:
        known = {
            claim.name: summary(found) for claim, found in _findings("all", _evidence(size, store))
        }
    listed = [
        {"name": name, "statement": claim.statement} | known[name] for name, claim in CLAIMS.items()
    ]
    if as_json:
        print_json(listed)
    else:
        print_claims([(CLAIMS[each["name"]].title, each) for each in listed])


@app.command()
@asks_where_to_run(store=_OWN_RUNS, executor="processes")
def run(where: dict[str, Any], name: Name, size: Size = "smoke", as_json: Json = False) -> int:
    """Run what a claim rests on, and say what came of it. Exit code 1 if a run is not ok.

    Interrupt it at any time: the same command resumes. Sizes, with the time for all
    claims on two cores: smoke (a minute), short (four), full (forty; what the verdicts rest on).

    \b
    Examples:
      recallscope paper run products --size smoke
      recallscope paper run all --size full --store my-runs
    """
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.paper.presets import check_size
    from recallscope.paper.registry import claims_named

    claims, folder = claims_named(name), _runs_in(where["store"], size)
    check_size(size)
    from recallscope.paper.runner import run_claim_sweep  # with torch, after what may be mistaken

    sweeps = list(dict.fromkeys(sweep for claim in claims for sweep in claim.sweeps))
    with executor_from(where) as executor:
        for number, sweep in enumerate(sweeps, start=1):
            with ProgressDisplay(f"{sweep} ({number} of {len(sweeps)})") as display:
                run_claim_sweep(sweep, size, folder, executor, display.update)
    findings = _findings(name, _evidence(size, where["store"]))
    _print_findings(findings, as_json)
    return 1 if any(found is not None and found.lost for _, found in findings) else 0


@app.command()
def plot(
    name: Name,
    to: Annotated[
        str, typer.Option(metavar="FOLDER", help="Where figures go, as .pdf and .png.")
    ] = "figures",
    size: Size = "full",
    store: Runs = None,
    as_json: Json = False,
) -> None:
    """Draw the figure of a claim, or of all, for print.

    \b
    Examples:
      recallscope paper plot products
      recallscope paper plot all --to figures
    """
    from recallscope.paper.figures import write_figure

    findings = [
        (claim, _measured(claim, found)) for claim, found in _findings(name, _evidence(size, store))
    ]
    folder = Path(to)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ProblemError(f"figures cannot be written to {to!r}: {error.strerror}") from None
    written = [
        str(path) for claim, found in findings for path in write_figure(claim, found, folder)
    ]
    if as_json:
        print_json({"figures": written})
    else:
        for path in written:
            print(path)


@app.command()
def report(
    to: Annotated[str, typer.Option(metavar="FILE", help="The page to write: .html.")] = (
        "report.html"
    ),
    size: Size = "full",
    store: Runs = None,
    as_json: Json = False,
) -> None:
    """Write a self-contained HTML report with all verdicts, figures and numbers.

    \b
    Examples:
      recallscope paper report
      recallscope paper report --store recallscope-paper --size smoke --to smoke.html
    """
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.common.csv_files import check_output
    from recallscope.paper.bundle import BUNDLE, hashes
    from recallscope.paper.provenance import facts_about
    from recallscope.paper.report import check_packages, write_report

    check_output(to, "report", (".html",))
    check_packages()
    evidence = _evidence(size, store)
    found = _findings("all", evidence)
    facts = facts_about(
        evidence,
        found,
        store or _OWN_RUNS,
        hashes(BUNDLE if store is None else _runs_in(store, size)),
    )
    with ProgressDisplay("drawing") as display:
        figures = [str(path) for path in write_report(to, found, facts, display.update)]
    if as_json:
        print_json({"report": to, "figures": figures})
    else:
        print(f"{to}, and {len(figures)} figures beside it")


def _only_full(size: str) -> None:
    if size != "full":
        raise ProblemError(
            f"the runs that come with this are of size full; give --store FOLDER for those of "
            f"size {size}"
        )


def _evidence(size: str, store: str | None) -> Evidence:
    from recallscope.paper.bundle import bundled_evidence
    from recallscope.paper.evidence import Evidence
    from recallscope.paper.presets import check_size

    check_size(size)
    if store is None:
        _only_full(size)
        return bundled_evidence()
    if not _runs_in(store, size).is_dir():
        raise ProblemError(
            f"there are no runs of size {size} in {store!r}; start with recallscope paper run"
        )
    return Evidence.at(_runs_in(store, size), size)


def _findings(name: str, evidence: Evidence) -> list[tuple[Claim, Finding | None]]:
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.paper.registry import claims_named, finding

    claims, found = claims_named(name), []
    with ProgressDisplay("reading the runs") as display:
        for claim in claims:
            found.append((claim, finding(claim, evidence)))
            display.update(len(found), len(claims))
    return found


def _runs_in(store: str, size: str) -> Path:
    """A folder for each size, so that none takes the others' runs for its own."""
    if "://" in store or not store:
        raise ProblemError(f"the claims keep their runs in a folder, not at {store!r}")
    return Path(store) / size


def _measured(claim: Claim, found: Finding | None) -> Finding:
    if found is None:
        raise ProblemError(
            f"{claim.name} is not yet measured; start with recallscope paper run {claim.name}"
        )
    return found


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
