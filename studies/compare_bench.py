"""The speed of this checkout beside another's: `recallscope bench` of both, taking turns.

    python studies/compare_bench.py OTHER_CHECKOUT [PAIRS]

The median over the pairs of (seconds here / seconds there) for each engine, with an interval that
holds the true median of such ratios with at least 95 % (from order statistics, for ten pairs).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

SIZES = ["--vocab", "1024", "--samples", "16384", "--dim", "128", "--length", "32"]
HERE = Path(__file__).parents[1]


def seconds(checkout: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "recallscope", "bench", *SIZES, "--json"],
        env=os.environ | {"PYTHONPATH": str(checkout / "src")},
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)["seconds"]
    return found


def main() -> None:
    other = Path(sys.argv[1]).resolve()
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    ratios: dict[str, list[float]] = {"engine": [], "literal": []}
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


if __name__ == "__main__":
    main()
