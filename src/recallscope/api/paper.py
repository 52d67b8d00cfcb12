"""The claims: list them with their verdicts, run what they rest on, report what came of it.

Give your claim as an object in place of a name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recallscope.paper.bundle import BUNDLE, bundled_evidence, hashes, manifest, summary
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.predictions import known_before, sweeps_added
from recallscope.paper.presets import check_size
from recallscope.paper.registry import claims_named, finding
from recallscope.problem import ProblemError

if TYPE_CHECKING:
    from recallscope.executors.base import Executor

OWN_RUNS = "recallscope-paper"
"""The default folder of your runs."""

_LISTED = ("name", "title", "statement", "source", "caveat", "of_the_paper", "from_abstract")
_FEW = 2  # claims; their figures are drawn in this process

Found = list[tuple[Claim, Finding | None]]
Asked = str | Claim | Sequence[Claim]


def list_claims(
    claims: Asked = "all", *, store: str | None = None, size: str = "full"
) -> list[dict[str, Any]]:
    """Every claim with its statement, its verdict and what that rests on.

    Without a store, verdicts rest on the runs that come with the package.

    >>> [each["verdict"] for each in list_claims("directions")]
    ['supported']
    """
    check_size(size)
    asked = claims_named(claims)
    if store is None:
        _only_full(size)
        packed = manifest()
        known, predictions = packed["claims"], packed["predictions"]
    else:
        found = findings(asked, evidence_at(size, store))
        known, predictions = {claim.name: summary(each) for claim, each in found}, None
    return [
        {name: getattr(claim, name) for name in _LISTED}
        | {"known": known_before(claim.name)}
        | known.get(claim.name, summary(None))
        | (_preregistered(claim, predictions) if predictions else {})
        for claim in asked
    ]


def _preregistered(claim: Claim, predictions: dict[str, Any]) -> dict[str, Any]:
    """The commit with a claim's predictions, and the first seeds of the bundled runs after it."""
    seeds = {name: predictions["first_seeds"].get(name) for name in claim.sweeps}
    added = set(claim.sweeps) <= set(sweeps_added())
    commit = predictions["later"]["commit"] if added else predictions["commit"]
    return {"predicted_by": commit, "first_seeds": seeds}


def run_claims(
    claims: Asked = "all",
    *,
    size: str = "smoke",
    store: str = OWN_RUNS,
    executor: str | Executor = "processes",
    workers: int | None = None,
    address: str | None = None,
    progress: Callable[[str, float, float], None] = lambda sweep, done, total: None,
) -> Found:
    """Run the sweeps of claims and return the findings. After an interruption, call it again.

    `progress` is called with the name of a sweep, the work done and the work in all.
    """
    asked, folder = claims_named(claims), runs_in(store, size)
    check_size(size)
    from recallscope.paper.runner import run_claim_sweep  # loads torch: after the checks
    from recallscope.sweeps.jobs import cell_workers

    sweeps = list(dict.fromkeys(sweep for claim in asked for sweep in claim.sweeps))
    with cell_workers(executor, workers, address) as pool:
        for number, sweep in enumerate(sweeps, start=1):
            label = f"{sweep} ({number} of {len(sweeps)})"

            def show(done: float, total: float, label: str = label) -> None:
                progress(label, done, total)

            run_claim_sweep(sweep, size, folder, pool, show)
    return findings(asked, evidence_at(size, store))


def report_claims(
    to: str,
    claims: Asked = "all",
    *,
    store: str | None = None,
    size: str = "full",
    progress: Callable[[str, float, float], None] = lambda stage, done, total: None,
) -> list[Path]:
    """Write a self-contained page with verdicts, figures and numbers; returns its figures."""
    from recallscope.common.csv_files import check_output
    from recallscope.paper.drawings import drawings
    from recallscope.paper.provenance import facts_about
    from recallscope.paper.report import ask_for_drawings, write_report

    check_output(to, "report", (".html",))
    asked = claims_named(claims)
    with drawings(many=len(asked) > _FEW) as drawn:
        evidence = evidence_at(size, store)
        found = findings(asked, evidence, progress, partial(ask_for_drawings, drawn))
        files = hashes(BUNDLE if store is None else runs_in(store, size))
        facts = facts_about(evidence, found, store or OWN_RUNS, files)
        show = partial(progress, "drawing")
        return write_report(to, found, facts, show, drawn)


def plot_claims(
    to: str,
    claims: Asked = "all",
    *,
    store: str | None = None,
    size: str = "full",
    progress: Callable[[str, float, float], None] = lambda stage, done, total: None,
) -> list[Path]:
    """Write the figure of each claim for print, as .pdf and .png, into a folder; where they are."""
    from recallscope.paper.drawings import drawings
    from recallscope.paper.figures import ask_for_figure, write_figure

    asked, folder = claims_named(claims), Path(to)
    if folder.exists() and not folder.is_dir():
        raise ProblemError(f"figures cannot be written to {to!r}: it is no folder")
    with drawings(many=len(asked) > _FEW) as drawn:
        evidence = evidence_at(size, store)
        found = findings(asked, evidence, progress, partial(ask_for_figure, drawn))
        for claim, each in found:
            if each is None:
                raise ProblemError(
                    f"{claim.name} is not yet measured; start with recallscope paper run "
                    f"{claim.name}"
                )
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ProblemError(f"figures cannot be written to {to!r}: {error.strerror}") from None
        written: list[Path] = []
        for number, (claim, each) in enumerate(found, start=1):
            assert each is not None
            written += write_figure(drawn, claim, each, folder)
            progress("drawing", number, len(found))
        return written


def findings(
    claims: Sequence[Claim],
    evidence: Evidence,
    progress: Callable[[str, float, float], None] = lambda stage, done, total: None,
    then: Callable[[Claim, Finding], None] = lambda claim, found: None,
) -> Found:
    """The finding of each claim, or None where some of its runs are missing.

    `then` is called with each as soon as it is known.
    """
    found: Found = []
    for claim in claims:
        each = finding(claim, evidence)
        found.append((claim, each))
        if each is not None:
            then(claim, each)
        progress("reading the runs", len(found), len(claims))
    return found


def evidence_at(size: str, store: str | None) -> Evidence:
    """The runs of one size in a folder, or those that come with the package."""
    check_size(size)
    if store is None:
        _only_full(size)
        return bundled_evidence()
    if not runs_in(store, size).is_dir():
        raise ProblemError(
            f"there are no runs of size {size} in {store!r}; start with recallscope paper run"
        )
    return Evidence.at(runs_in(store, size), size)


def runs_in(store: str, size: str) -> Path:
    """The folder of one size; each size has a separate one."""
    if "://" in store or not store:
        raise ProblemError(f"the claims keep their runs in a folder, not at {store!r}")
    return Path(store) / size


def _only_full(size: str) -> None:
    if size != "full":
        raise ProblemError(
            f"the runs that come with recallscope are of size full; give --store FOLDER for runs "
            f"of size {size}"
        )
