"""How much of two bare loops' speed a sweep on two workers keeps, store and all.

    speed/efficiency --csv efficiency.csv

Two processes that do nothing but call `run` one seed after another are the yardstick. The same
cells are then swept by processes, a local Dask cluster and Ray into a new store. All take turns, in
one run of this script; starting is timed apart. An efficiency is the bare loops' time over the
sweep's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from unittest.mock import patch

from recallscope import Problem, sweep
from recallscope.common.csv_files import write_csv
from recallscope.experiment.cell import Cell, Settings
from recallscope.sweeps.executors.limits import Limits
from recallscope.sweeps.executors.workers import Workers, workers_of
from recallscope.sweeps.jobs import RunCells, cell_workers

WORKERS = 2
KINDS = {
    "0.5 s": (Problem(vocab=1024, samples=420_000, dim=96, length=16), 60),
    "tiny": (Problem(vocab=16, samples=32, dim=8, length=4), 1500),
}
BY = ("processes", "dask", "ray")
LOOP = """
import json, sys, time, torch
torch.set_num_threads(1)
from recallscope import Problem, run
problem = Problem.from_dict(json.loads(sys.argv[1]))
run(problem, 0, dtype="float32")
print("ready", flush=True)
sys.stdin.readline()
started = time.perf_counter()
for seed in range(int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])):
    run(problem, seed, dtype="float32")
print(time.perf_counter() - started, flush=True)
"""


def bare(problem: Problem, cells: int) -> float:
    """Seconds that two loops take, until the later one is done."""
    loops = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                LOOP,
                json.dumps(problem.to_dict()),
                *map(str, (first, cells, WORKERS)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},  # as workers have
        )
        for first in range(WORKERS)
    ]
    for loop in loops:
        assert loop.stdout is not None
        loop.stdout.readline()
    for loop in loops:
        assert loop.stdin is not None
        loop.stdin.write("go\n")
        loop.stdin.flush()
    return max(float(loop.communicate()[0]) for loop in loops)


def swept(problem: Problem, cells: int, pool: Workers) -> float:
    """Seconds that the sweep takes with workers that are there already."""
    there = patch("recallscope.sweeps.run_sweep.cell_workers", lambda *executor: nullcontext(pool))
    with tempfile.TemporaryDirectory() as folder, there:
        started = time.perf_counter()
        found = sweep(((problem, seed) for seed in range(cells)), folder, progress=False)
        seconds = time.perf_counter() - started
    assert found.by_status == {"ok": cells}
    return seconds


@contextmanager
def started(name: str) -> Iterator[Workers]:
    """Workers that have all done something."""
    if name == "dask":
        from distributed import Client

        with (
            Client(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as client,
            workers_of(client.get_executor(), WORKERS) as pool,
        ):
            warm_up(pool)
            yield pool
    else:
        with cell_workers(name, WORKERS) as pool:
            warm_up(pool)
            yield pool


def warm_up(pool: Workers) -> None:
    problem = KINDS["tiny"][0]
    left = 2 * WORKERS
    for number in range(left):
        pool.submit(RunCells((Cell(problem, number),), Settings(), Limits()))
    while left:
        left -= len(pool.finished(1.0))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--csv", help="write the timings to a table")
    given = parser.parse_args()
    rows = []
    for turn in range(given.turns):
        for kind, (problem, cells) in KINDS.items():
            rows.append({"turn": turn, "cells": kind, "by": "bare loops", "start": None})
            rows[-1]["seconds"] = bare(problem, cells)
        for name in BY:
            began = time.perf_counter()
            with started(name) as pool:
                begin = time.perf_counter() - began
                for kind, (problem, cells) in KINDS.items():
                    rows.append({"turn": turn, "cells": kind, "by": name, "start": begin})
                    rows[-1]["seconds"] = swept(problem, cells, pool)
        print(f"turn {turn + 1} of {given.turns} done", flush=True)
    for kind, (_, cells) in KINDS.items():
        times = {
            name: [row["seconds"] for row in rows if (row["cells"], row["by"]) == (kind, name)]
            for name in ("bare loops", *BY)
        }
        middle = {name: statistics.median(each) for name, each in times.items()}
        print(f"{kind} cells: {1000 * WORKERS * middle['bare loops'] / cells:.2f} ms each, bare")
        for name in BY:
            by_turn = [a / b for a, b in zip(times["bare loops"], times[name], strict=True)]
            print(
                f"  {name}: efficiency {middle['bare loops'] / middle[name]:.3f}, turn by turn "
                f"{' '.join(f'{each:.3f}' for each in by_turn)}"
            )
    for name in BY:
        begins = sorted({row["start"] for row in rows if row["by"] == name})
        print(f"start of {name}: {begins[0]:.1f} to {begins[-1]:.1f} s")
    if given.csv:
        write_csv(rows, given.csv)


if __name__ == "__main__":
    main()
