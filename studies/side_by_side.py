"""The speed of this checkout relative to another, in turns; other scripts say what is timed.

For each kind of work: the median over the pairs of (seconds here / seconds there), with an interval
that covers the true median of such ratios with at least 95 % (order statistics, for ten pairs).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parents[1]


def output_of(arguments: list[str], checkout: Path) -> str:
    """What Python prints, with the package of a checkout."""
    return subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": str(checkout / "src")},
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def compare(kinds: list[str], seconds: Callable[[Path], dict[str, float]]) -> None:
    """Time both checkouts in turn, and print the ratios.

    The other checkout, and how many pairs, are what the script was given.
    """
    other = Path(sys.argv[1]).resolve()
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    ratios: dict[str, list[float]] = {kind: [] for kind in kinds}
    for pair in range(pairs):
        order = (HERE, other) if pair % 2 else (other, HERE)
        took = {checkout: seconds(checkout) for checkout in order}
        for name, found in ratios.items():
            found.append(took[HERE][name] / took[other][name])
        print({name: round(found[-1], 3) for name, found in ratios.items()}, flush=True)
    for name, found in ratios.items():
        ordered = sorted(found)
        low, high = (ordered[1], ordered[-2]) if pairs >= 10 else (ordered[0], ordered[-1])
        print(
            f"{name}: {statistics.median(found):.3f} of the other's time ({low:.3f} to {high:.3f})"
        )
