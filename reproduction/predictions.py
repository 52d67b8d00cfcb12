"""What statements predict, written down before the runs that judge them.

Two files have for each statement the expected ranges of intervals, and what was known when they
were written. Seeds of full-size runs come from their hashes, so nobody could look at those runs
first. The files can never change: they keep the words of their time.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from recallscope.statistics.intervals import Interval
from reproduction.verdict import Judgement, judge

FIRST = Path(__file__).with_name("predictions.toml")
LATER = Path(__file__).with_name("predictions-0.3.toml")
"""Predictions of sweeps that version 0.3 added."""

COMMITS = {
    FIRST: "45a28792fbba1cb8e6c4300fb23d898929c82231",
    LATER: "57f10869b6c9529cfdcaaf7d0a6208db388daac2",
}
"""The commits that wrote the files, before the runs that they predict."""


def judged(statement: str, measured: Mapping[str, Interval]) -> list[Judgement]:
    """Compare each prediction of a statement with its measurement; both must have the same names.

    >>> (only,) = judged("news", {
    ...     "how far powers are from those of d·L, in the nearer reading": Interval(2, 1.5, 2.5)
    ... })
    >>> str(only.verdict)
    'refuted'
    """
    expected = _all()[statement]["expected"]
    if set(expected) != set(measured):
        raise ValueError(f"{statement} predicts {sorted(expected)}, not {sorted(measured)}")
    return [judge(what, measured[what], **ends) for what, ends in expected.items()]


def known_before(statement: str) -> str:
    """What was known when the predictions of a statement were written; empty if there are none.

    >>> known_before("news")
    'Both readings had been measured for version 0.1 with other seeds, and neither held.'
    """
    return str(_all().get(statement, {}).get("known", ""))


def first_seed_of(sweep: str) -> int:
    """The number from which the full-size seeds of a sweep count."""
    return first_seed(LATER if sweep in _read(LATER)["sweeps"] else FIRST)


def first_seed(file: Path) -> int:
    """The number that the hash of a file of predictions gives."""
    return int(file_hash(file)[:10], 16)


def file_hash(file: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


@cache
def _all() -> dict[str, Any]:
    """Both files: predictions of a statement that is in both count together."""
    predictions, later = _read(FIRST), _read(LATER)
    del later["sweeps"]
    for statement, added in later.items():
        before = predictions.setdefault(statement, {"known": "", "expected": {}})
        before["known"] = f"{before['known']} {added['known']}".strip()
        before["expected"] |= added["expected"]
    return predictions
