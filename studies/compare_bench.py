"""The speed of this checkout relative to another: `studies/bench.py` of both, in turns.

    python studies/compare_bench.py OTHER_CHECKOUT [PAIRS]

side_by_side.py says what is printed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from side_by_side import compare, output_of

SIZES = ["--vocab", "1024", "--samples", "16384", "--dim", "128", "--length", "32"]


def seconds(checkout: Path) -> dict[str, float]:
    """Of each kind of work."""
    script = "studies/bench.py"  # until 0.2 it was a command
    way = [script] if (checkout / script).exists() else ["-m", "recallscope", "bench"]
    found: dict[str, float] = json.loads(output_of([*way, *SIZES, "--json"], checkout))["seconds"]
    return found


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"  # as bench does, and did not always
    compare(["engine", "literal"], seconds)
