"""Posteriors of critical sizes, kept next to the runs that they follow from.

Computing one takes a tenth of a second, and the claims rest on hundreds. The key of each is the
hash of its runs, so none is mistaken for another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from recallscope.measurement.critical import CriticalSearch
from recallscope.statistics.threshold import Crossing

CROSSINGS = "crossings.json"

Kept = dict[str, dict[str, Any]]


def key_of(search: CriticalSearch) -> str:
    """The hash of all that a posterior follows from."""
    return hashlib.sha256(json.dumps(search.evidence()).encode()).hexdigest()[:32]


def crossings_of(searches: Iterable[CriticalSearch]) -> Kept:
    """The posterior of each search."""
    kept: Kept = {}
    for search in searches:
        found = search.crossing
        kept[key_of(search)] = {
            "range": list(found.range),
            "edges": [float(found.edges[0]), float(found.edges[-1])],  # equally spaced
            "weight": found.weight.tolist(),
            "slope": found.slope,
        }
    return kept


def read_crossings(path: Path) -> Kept:
    """The posteriors in a file; none if there is no file."""
    if not path.is_file():
        return {}
    found: Kept = json.loads(path.read_text(encoding="utf-8"))
    return found


def remember(search: CriticalSearch, kept: Kept) -> None:
    """Give a search the posterior of exactly its runs, if it is kept."""
    if kept and (known := kept.get(key_of(search))):
        (first, last), (start, stop) = known["range"], known["edges"]
        search.crossing = Crossing(
            edges=np.linspace(start, stop, len(known["weight"]) + 1),
            weight=np.array(known["weight"]),
            slope=known["slope"],
            range=(first, last),
        )
