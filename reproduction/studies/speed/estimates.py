"""How far the times that `recallscope sweep --dry-run` estimates are from those that sweeps take.

    speed/estimates --csv estimates.csv

Eight small sweeps in three turns, each estimated as the command does it and then run into a new
store: tiny cells and larger ones, by every engine, in this process and in one for each core. What
is compared is CPU time, of all workers together: what a machine with nothing else to do would take.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import tempfile
from pathlib import Path
from typing import Any

from recallscope import Store, sweep
from recallscope.common.csv_files import write_csv
from recallscope.measure.sweep_file import sweep_from
from recallscope.sweeps.estimate import estimate, measured_pace

TURNS = 3
TINY = {"problem": {"vocab": 32, "length": 4}, "grid": {"dim": [8, 16], "samples": [64, 128]}}
MLP = {"vocab": 512, "length": 16, "dim": 64}
SWEEPS: dict[str, tuple[str, dict[str, Any]]] = {
    "tiny": ("serial", TINY | {"seeds": 200}),
    "tiny, many": ("processes", TINY | {"seeds": 500}),
    "stream": (
        "serial",
        {
            "seeds": 10,
            "engine": "stream",
            "problem": {"vocab": 1024, "length": 32},
            "grid": {"dim": [64, 128], "samples": ["8k", "32k"]},
        },
    ),
    "counts": (
        "processes",
        {
            "seeds": 4,
            "problem": {"vocab": 2048, "length": 32, "dim": 128},
            "grid": {"samples": ["64k", "256k"]},
        },
    ),
    "counts, float64": (
        "serial",
        {
            "seeds": 20,
            "dtype": "float64",
            "problem": {"vocab": 512, "length": 32, "dim": 64},
            "grid": {"samples": ["8k", "64k"]},
        },
    ),
    "MLP": (
        "serial",
        {"seeds": 4, "problem": MLP | {"width": 256}, "grid": {"samples": ["8k", "32k"]}},
    ),
    "MLP, population": (
        "processes",
        {"seeds": 6, "problem": MLP | {"samples": "inf"}, "grid": {"width": [128, 512]}},
    ),
    "literal": (
        "serial",
        {
            "seeds": 4,
            "problem": MLP | {"samples": "8k", "regime": "literal", "eta": 0.1, "gamma": 9},
        },
    ),
}


def cpu_seconds() -> float:
    """Of this process and of those that it had."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def measured(turn: int, name: str) -> dict[str, Any]:
    """A sweep, estimated and run."""
    executor, document = SWEEPS[name]
    spec = sweep_from(document)
    with tempfile.TemporaryDirectory() as folder:
        store, pace = Store(Path(folder) / "facts"), measured_pace(spec.settings.dtype)
        expected = estimate(spec.cells(), store, spec.settings, executor, pace=pace)
        how = {"engine": spec.settings.engine, "dtype": spec.settings.dtype}
        started = cpu_seconds()
        found = sweep(spec.cells(), store, executor=executor, **how)
        took = cpu_seconds() - started
    predicted = expected.seconds * expected.workers
    return {
        "turn": turn,
        "sweep": name,
        "executor": executor,
        "cells": found.ran,
        "pace": round(pace, 3),
        "predicted": round(predicted, 3),
        "took": round(took, 3),
        "ratio": round(predicted / took, 3),
    }


def main() -> None:
    """Measure them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--csv", required=True)
    asked = parser.parse_args()
    rows = []
    for turn, name in itertools.product(range(TURNS), SWEEPS):
        rows.append(measured(turn, name))
        print(rows[-1], flush=True)
    write_csv(rows, asked.csv)


if __name__ == "__main__":
    main()
