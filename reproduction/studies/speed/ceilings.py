"""The most that one driver and one store can do, when cells do nothing.

    speed/ceilings --csv ceilings.csv

Cells of a function that returns at once are swept by two workers into a new store; the start of the
workers is not counted. The same sweep is then resumed by another process, which finds nothing left
to do. Eight processes commit to one store at once, a hundred records at a time. All take turns.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from unittest.mock import patch

from recallscope import Problem, sweep
from recallscope.common.csv_files import write_csv
from recallscope.sweeps.jobs import cell_workers
from reproduction.studies.speed.efficiency import warm_up

CELLS, WRITERS, COMMITS, RECORDS = 40_000, 8, 25, 100
SEEDS = 1000


def nothing(problem: Problem, seed: int) -> dict[str, float]:
    """A measurement that takes no time."""
    return {"nothing": 0.0}


def cells() -> list[tuple[Problem, int]]:
    problems = [Problem(vocab=16, samples=n + 8, dim=8, length=4) for n in range(CELLS // SEEDS)]
    return [(problem, seed) for problem in problems for seed in range(SEEDS)]


def handed_out(executor: str, place: str) -> float:
    """Cells per second from the driver to workers and into the store."""
    with cell_workers(executor, 2) as pool:
        warm_up(pool)
        with patch("recallscope.sweeps.run_sweep.cell_workers", lambda *more: nullcontext(pool)):
            started = time.perf_counter()
            found = sweep(cells(), place, run=nothing, version=1, progress=False)
    assert found.by_status == {"ok": CELLS}
    return CELLS / (time.perf_counter() - started)


RESUME = """
import sys, time
from recallscope import sweep
from reproduction.studies.speed.ceilings import cells, nothing
them = cells()
started = time.perf_counter()
assert sweep(them, sys.argv[1], run=nothing, version=1, progress=False).ran == 0
print(len(them) / (time.perf_counter() - started))
"""
COMMIT = """
import sys, time
from dataclasses import replace
from recallscope import Problem, Store, run
from recallscope.experiment.cell import Settings
from recallscope.sweeps.store.cell_keys import CellKeys
from recallscope.sweeps.store.schema import KeyedRecord
store, keys, writer = Store(sys.argv[1]), CellKeys(Settings()), int(sys.argv[2])
commits, count = int(sys.argv[3]), int(sys.argv[4])
problem = Problem(vocab=16, samples=32, dim=8, length=4)
record = run(problem, 0, dtype="float32")
store.make()
print("ready", flush=True)
sys.stdin.readline()
for commit in range(commits):
    first = (writer * commits + commit) * count
    seeds = range(first, first + count)
    store.append([KeyedRecord(keys((problem, s)), replace(record, seed=s)) for s in seeds])
"""


def resumed(place: str) -> float:
    """Rows per second that a sweep with nothing left to do reads and looks up."""
    command = [sys.executable, "-c", RESUME, place]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def committed() -> float:
    """Commits per second of all writers."""
    with tempfile.TemporaryDirectory() as place:
        sizes = [str(COMMITS), str(RECORDS)]
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", COMMIT, place, str(number), *sizes],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(WRITERS)
        ]
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()
        started = time.perf_counter()
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        assert [writer.wait() for writer in writers] == [0] * WRITERS
        seconds = time.perf_counter() - started
        from recallscope import Store

        assert Store(place).by_status() == {"ok": WRITERS * COMMITS * RECORDS}
    return WRITERS * COMMITS / seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--csv", help="write the rates to a table")
    given = parser.parse_args()
    rows = []
    for turn in range(given.turns):
        for executor in ("processes", "ray"):
            with tempfile.TemporaryDirectory() as place:
                rate = handed_out(executor, place)
                rows.append({"turn": turn, "what": f"cells by {executor}", "per_second": rate})
                if executor == "processes":
                    rate = resumed(place)
                    rows.append({"turn": turn, "what": "rows resumed", "per_second": rate})
        rate = committed()
        rows.append({"turn": turn, "what": "commits of 8 writers", "per_second": rate})
        print(rows[-4:], flush=True)
    for what in dict.fromkeys(str(row["what"]) for row in rows):
        rates = [float(row["per_second"]) for row in rows if row["what"] == what]
        middle, least, most = statistics.median(rates), min(rates), max(rates)
        print(f"{what}: {middle:.0f} ({least:.0f} to {most:.0f}) a second")
    if given.csv:
        write_csv(rows, given.csv)


if __name__ == "__main__":
    main()
