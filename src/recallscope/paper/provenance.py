"""Where the runs behind a report come from: how many, by what versions, how long, and their hashes.

All of it is read from the runs themselves.
"""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recallscope.common.formatting import format_duration
from recallscope.paper.bundle import hashes_of_sweeps
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.evidence import Evidence
from recallscope.problem import SCHEMA_VERSION


@dataclass(frozen=True, kw_only=True)
class ReportFacts:
    """What a reader needs to make the report again.

    Attributes:
        size: of the runs, such as "full".
        date: when it was made, as text.
        revision: of the code.
        schema: of the records.
        runs: how many there were.
        machine: what they ran on and how long it took, as text.
        commands: that make all of it again, exactly.
        versions: of Python and the packages, by name.
        manifest: lines of hashes of what was measured.
    """

    size: str
    date: str
    revision: str
    schema: int
    runs: int
    machine: str
    commands: Sequence[str]
    versions: Mapping[str, str]
    manifest: Sequence[str] = field(default_factory=tuple)


def facts_about(
    evidence: Evidence,
    claims: Sequence[tuple[Claim, Finding | None]],
    store: str,
    files: dict[str, str],
) -> ReportFacts:
    """What a reader needs to make a report again.

    Args:
        evidence: the runs.
        claims: what was found in them.
        store: the folder that commands to repeat it name.
        files: hashes of the files of the runs, by name.
    """
    sweeps = sorted({name for claim, found in claims if found for name in claim.sweeps})
    records = evidence.used(sweeps)
    versions = {
        package: ", ".join(sorted({record.provenance.versions[package] for record in records}))
        for package in (records[0].provenance.versions if records else ())
    }
    revisions = sorted({record.provenance.revision or "unknown" for record in records})
    seconds = sum(record.provenance.elapsed_seconds for record in records)
    return ReportFacts(
        size=evidence.size,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        revision=", ".join(revisions) or "unknown",
        schema=SCHEMA_VERSION,
        runs=len(records),
        machine=f"{format_duration(seconds)} of one core in all",
        commands=[
            f"recallscope paper {what} --size {evidence.size} --store {shlex.quote(store)}"
            for what in ("run all", "report")
        ],
        versions=versions,
        manifest=[
            f"{digest}  {name}"
            for name, digest in (files | hashes_of_sweeps(sweeps, evidence.size)).items()
        ],
    )
