"""The speed of this checkout's process executor beside another's, taking turns.

    python studies/compare_executors.py OTHER_CHECKOUT [PAIRS]

Two workers sweep cells of some 50 ms, and tiny ones, into a new store; their start is not counted.
What is printed, side_by_side.py tells.
"""

from __future__ import annotations

import json
from pathlib import Path

from side_by_side import compare, output_of

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
    """Of each kind of work."""
    found: dict[str, float] = json.loads(output_of(["-c", PROGRAM], checkout))
    return found


if __name__ == "__main__":
    compare(["50 ms", "tiny"], seconds)
