"""The full-size runs that come with the package, and a manifest that says what they are.

Figures and verdicts are rebuilt from them in less than a minute, and nothing else is needed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from recallscope.paper.claim import Finding
from recallscope.paper.crossings import CROSSINGS, read_crossings, write_crossings
from recallscope.paper.evidence import RECORDS, Evidence
from recallscope.paper.predictions import LATER, file_hash
from recallscope.paper.presets import sweep_file, sweep_of
from recallscope.paper.registry import CLAIMS, finding
from recallscope.problem import SCHEMA_VERSION, ProblemError
from recallscope.store.keys import CellKeys

BUNDLE = Path(__file__).with_name("bundle")
MANIFEST = "manifest.json"


def manifest() -> dict[str, Any]:
    """What the bundle says of itself: hashes of its files, and the verdicts drawn from them.

    >>> sorted(manifest()["claims"]) == sorted(CLAIMS)
    True
    """
    found: dict[str, Any] = json.loads((BUNDLE / MANIFEST).read_text(encoding="utf-8"))
    return found


def bundled_evidence() -> Evidence:
    """The runs that come with the package, or an error if a file is not as it was packed."""
    listed, found = manifest()["files"], hashes(BUNDLE)
    for name in sorted(set(listed) | set(found)):
        if listed.get(name) != found.get(name):
            raise ProblemError(
                f"{name} of the runs that come with recallscope is not as it was packed; install "
                "recallscope again"
            )
    return Evidence.at(BUNDLE, "full", read_crossings(BUNDLE / CROSSINGS))


def summary(found: Finding | None) -> dict[str, Any]:
    """The verdict on a claim and what it rests on, fit for JSON."""
    if found is None:
        return {"verdict": "not yet measured", "evidence": []}
    return {
        "verdict": str(found.verdict),
        "evidence": [judgement.to_dict() for judgement in found.judgements],
    }


def pack(
    place: str | Path, folder: Path, made_with: dict[str, Any], predicted_by: tuple[str, str]
) -> dict[str, Any]:
    """Write the full-size runs of all claims to a new folder, with a manifest; returns that.

    `predicted_by` are the commits of the predictions that the runs judge, the later ones second.
    """
    from recallscope.store.schema import KeyedRecord
    from recallscope.store.store import Store

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
    write_crossings(searches, folder / CROSSINGS)
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


def hashes(folder: Path) -> dict[str, str]:
    """The hash of every file of a bundle but its manifest."""
    return {
        path.relative_to(folder).as_posix(): _hash(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST and not path.name.startswith(".")
    }


def hashes_of_sweeps(names: Iterable[str], size: str) -> dict[str, str]:
    """The hash of the file of each sweep."""
    return {f"sweeps/{size}/{name}.toml": _hash(sweep_file(name, size)) for name in names}


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
