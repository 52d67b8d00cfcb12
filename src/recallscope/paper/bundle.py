"""The full-size runs that come with the package, and their manifest.

Figures and verdicts are rebuilt from them alone, in less than a minute.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recallscope.paper.claim import Finding
from recallscope.paper.crossings import CROSSINGS, read_crossings
from recallscope.paper.evidence import Evidence
from recallscope.paper.predictions import file_hash
from recallscope.paper.presets import sweep_file
from recallscope.problem import ProblemError

BUNDLE = Path(__file__).with_name("bundle")
MANIFEST = "manifest.json"


def manifest() -> dict[str, Any]:
    """The manifest of the bundle: hashes of its files, and the verdicts from them.

    >>> from recallscope.paper.registry import CLAIMS
    >>> sorted(manifest()["claims"]) == sorted(CLAIMS)
    True
    """
    found: dict[str, Any] = json.loads((BUNDLE / MANIFEST).read_text(encoding="utf-8"))
    return found


def bundled_evidence() -> Evidence:
    """The runs that come with the package, or an error if a file has changed."""
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


def hashes(folder: Path) -> dict[str, str]:
    """The hash of every file of a bundle but its manifest."""
    return {
        path.relative_to(folder).as_posix(): file_hash(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST and not path.name.startswith(".")
    }


def hashes_of_sweeps(names: Iterable[str], size: str) -> dict[str, str]:
    """The hash of the file of each sweep."""
    return {f"sweeps/{size}/{name}.toml": file_hash(sweep_file(name, size)) for name in names}
