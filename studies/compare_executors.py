"""The speed of this checkout's process executor beside another's, taking turns.

    python studies/compare_executors.py OTHER_CHECKOUT [PAIRS]

Two workers sweep cells of some 50 ms, and tiny ones, into a new store; their start is not counted.
For each kind the median over the pairs of (seconds here / seconds there), with an interval that
holds the true median of such ratios with at least 95 % (from order statistics, for ten pairs).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parents[1]
PROGRAM = """
import json, tempfile, time
from recallscope import Problem, sweep
from recallscope.executors.processes import Processes

def seconds(problem, cells):
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        found = sweep([(problem, seed) for seed in range(cells)], folder, executor=pool)
        took = time.perf_counter() - started
    assert found.by_status == {"ok": cells}
    return took

longer = Problem(vocab=1024, samples=28000, dim=96, length=16)
tiny = Problem(vocab=16, samples=32, dim=8, length=4)
pool = Processes(2, preload=["recallscope.sweeps.jobs"])
seconds(tiny, 200)  # both workers are up
print(json.dumps({"50 ms": seconds(longer, 160), "tiny": seconds(tiny, 4000)}))
pool.close()
"""


def seconds(checkout: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"PYTHONPATH": str(checkout / "src")},
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    other = Path(sys.argv[1]).resolve()
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    ratios: dict[str, list[float]] = {"50 ms": [], "tiny": []}
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
