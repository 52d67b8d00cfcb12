"""Pack the full-size runs of the paper's claims into the package.

    recallscope paper run all --size full --store FOLDER
    python studies/bundle.py FOLDER

Replaces src/recallscope/paper/bundle: records, posteriors, and a manifest with hashes, verdicts and
the commit of the predictions that the runs judge.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from recallscope import __version__
from recallscope.common.formatting import format_duration
from recallscope.paper.bundle import BUNDLE, MANIFEST, hashes, hashes_of_sweeps, summary
from recallscope.paper.crossings import CROSSINGS, crossings_of
from recallscope.paper.evidence import RECORDS, Evidence
from recallscope.paper.predictions import FILE, LATER, file_hash
from recallscope.paper.presets import sweep_of
from recallscope.paper.registry import CLAIMS, finding
from recallscope.problem import SCHEMA_VERSION, ProblemError
from recallscope.store.keys import CellKeys
from recallscope.store.schema import KeyedRecord
from recallscope.store.store import Store


def _commit_of(path: Path) -> str:
    """The last commit that changed a file."""
    command = ["git", "log", "-1", "--format=%H", "--", str(path)]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def pack(
    place: str | Path, folder: Path, made_with: dict[str, Any], predicted_by: tuple[str, str]
) -> dict[str, Any]:
    """Write the full-size runs of all claims to a new folder, with a manifest; returns that.

    `predicted_by` are the commits of the predictions that the runs judge, the later ones second.
    """
    if folder.exists():
        raise ProblemError(f"{str(folder)!r} is there already; remove it, or name another")
    evidence = Evidence.at(place, "full")
    names = sorted({name for claim in CLAIMS.values() for name in claim.sweeps})
    records = evidence.used(names)
    folder.mkdir(parents=True)
    store = Store(folder / RECORDS)
    (settings,) = {sweep_of(name, "full").settings for name in names}  # all are run in one way
    kinds = {record.measure for record in records}
    key_of = {kind: CellKeys(replace(settings, measure=kind)) for kind in kinds}
    with store.writing():
        store.append(
            [KeyedRecord(key_of[each.measure]((each.problem, each.seed)), each) for each in records]
        )
    (folder / RECORDS / ".lock").unlink(missing_ok=True)  # nobody is to write here
    sought = [name for name in names if sweep_of(name, "full").critical is not None]
    searches = [search for name in sought for search in evidence.searches(name)]
    posteriors = json.dumps(crossings_of(searches))
    (folder / CROSSINGS).write_text(posteriors + "\n", encoding="utf-8")
    written = {
        "schema": SCHEMA_VERSION,
        "size": "full",
        "runs": sum(record.measure is None for record in records),
        "readings": sum(record.measure is not None for record in records),
        "core_seconds": round(sum(record.provenance.elapsed_seconds for record in records)),
        **made_with,
        "predictions": {
            "sha256": file_hash(),
            "commit": predicted_by[0],
            "later": {"sha256": file_hash(LATER), "commit": predicted_by[1]},
            "first_seeds": {name: sweep_of(name, "full").first_seed for name in names},
        },
        "files": hashes(folder),
        "sweeps": hashes_of_sweeps(names, "full"),
        "claims": {name: summary(finding(claim, evidence)) for name, claim in CLAIMS.items()},
    }
    (folder / MANIFEST).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    return written


def main() -> None:
    place = Path(sys.argv[1]) / "full"
    new = BUNDLE.with_name("bundle.new")
    shutil.rmtree(new, ignore_errors=True)
    made_with = {"recallscope": __version__, "cores": os.cpu_count()}
    found = pack(place, new, made_with, predicted_by=(_commit_of(FILE), _commit_of(LATER)))
    shutil.rmtree(BUNDLE, ignore_errors=True)
    new.rename(BUNDLE)
    for name, claim in found["claims"].items():
        print(f"{name}: {claim['verdict']}")
    print(f"{found['runs']} runs, {found['readings']} readings, ", end="")
    print(f"{format_duration(found['core_seconds'])} of one core")


if __name__ == "__main__":
    main()
