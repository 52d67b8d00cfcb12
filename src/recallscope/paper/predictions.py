"""What claims predict, written down before the runs that judge them.

The file predictions.toml has for each claim the expected ranges of intervals, and what was known
when they were written. Seeds of full-size runs come from its hash, so nobody could look at those
runs first.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from recallscope.paper.verdict import Judgement, judge
from recallscope.statistics.intervals import Interval

FILE = Path(__file__).with_name("predictions.toml")
LATER = Path(__file__).with_name("predictions-0.3.toml")
"""Predictions of added runs. The first file can never change, as seeds come from its hash."""


@cache
def _all() -> dict[str, Any]:
    first, later = (tomllib.loads(file.read_text(encoding="utf-8")) for file in (FILE, LATER))
    del later["sweeps"]
    for claim, added in later.items():
        before = first.setdefault(claim, {"known": "", "expected": {}})
        before["known"] = f"{before['known']} {added['known']}".strip()
        before["expected"] |= added["expected"]
    return first


def sweeps_added() -> list[str]:
    """The sweeps with seeds from the later file."""
    return list(tomllib.loads(LATER.read_text(encoding="utf-8"))["sweeps"])


def known_before(claim: str) -> str:
    """What was known when the predictions of a claim were written; empty for other claims.

    >>> known_before("news")
    'Both readings had been measured for version 0.1 with other seeds, and neither held.'
    """
    return str(_all().get(claim, {}).get("known", ""))


def judged(claim: str, measured: Mapping[str, Interval]) -> list[Judgement]:
    """Compare each prediction of a claim with its measurement; both must have the same names.

    >>> found = judged("news", {
    ...     "how far powers are from those of d·L, in the nearer reading": Interval(2, 1.5, 2.5)
    ... })
    >>> [str(each.verdict) for each in found]
    ['refuted']
    """
    expected = _all()[claim]["expected"]
    if set(expected) != set(measured):
        raise ValueError(f"{claim} predicts {sorted(expected)}, not {sorted(measured)}")
    return [judge(what, measured[what], **ends) for what, ends in expected.items()]


def file_hash(file: Path = FILE) -> str:
    """The hash of a file, of predictions or others."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def first_seed(file: Path = FILE) -> int:
    """The seed from which those of the full-size runs count."""
    return int(file_hash(file)[:10], 16)
