"""A store of a million records: how long it takes to open it and to resume a sweep on it.

    python studies/million.py --records 1000000 --csv studies/million.csv

The record of one tiny run is repeated under a million keys. Its numbers are drawn again, or they
would compress. The store writes the records in shards of 20,000. Two processes are timed: one opens
the store for writing, one resumes a finished sweep of a thousand problems at a thousand seeds.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace

import numpy as np

from recallscope import Problem, Store, run, sweep
from recallscope.cell import Cell, Settings
from recallscope.common.csv_files import write_csv
from recallscope.store.keys import CellKeys
from recallscope.store.schema import KeyedRecord

SHARD = 20_000
SEEDS = 1000
NUMBERS = ("score_signal", "score_noise", "trigger_cosine", "second_value_cosine")


def problems(count: int) -> list[Problem]:
    return [Problem(vocab=16, samples=32 + number, dim=8, length=4) for number in range(count)]


def fill(place: str, records: int) -> None:
    """Write so many records, each under its own key."""
    store, key = Store(place), CellKeys(Settings())
    first, rng = run(problems(1)[0], 0, dtype="float32"), np.random.default_rng(0)
    with store.writing():
        kept: list[KeyedRecord] = []
        for problem in problems(records // SEEDS):
            for seed in range(SEEDS):
                numbers = dict(zip(NUMBERS, rng.random(len(NUMBERS)).tolist(), strict=True))
                record = replace(first, problem=problem, seed=seed, **numbers)
                kept.append(KeyedRecord(key(Cell(problem, seed)), record))
            if len(kept) >= SHARD:
                store.append(kept)
                kept = []
        store.append(kept)


def measure(what: str, place: str, records: int) -> dict[str, float]:
    """In a separate process: seconds, and the peak memory of that process."""
    started = time.perf_counter()
    if what == "open":
        with Store(place).writing() as index:
            assert len(index.statuses) == records
    else:
        cells = ((p, seed) for p in problems(records // SEEDS) for seed in range(SEEDS))
        assert sweep(cells, place).known == records
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": seconds, "peak_bytes": peak}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--records", type=int, default=10**6)
    parser.add_argument("--csv", help="write the measurements to a table")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(*given.measure, given.records)))
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        fill(folder, given.records)
        size = sum(path.stat().st_size for path in Store(folder).files.path.iterdir())
        shards = len(Store(folder).files.names())
        print(
            f"{given.records} records, {shards} shards, {size / 1e6:.0f} MB, "
            f"written in {time.perf_counter() - started:.0f} s"
        )
        for what in ("open", "resume") * 3:
            command = [sys.executable, __file__, "--records", str(given.records)]
            done = subprocess.run(
                [*command, "--measure", what, folder], capture_output=True, text=True, check=True
            )
            rows.append({"what": what, "records": given.records} | json.loads(done.stdout))
            print(f"{what}: {rows[-1]['seconds']:.2f} s, {rows[-1]['peak_bytes'] / 2**20:.0f} MiB")
    if given.csv:
        write_csv(rows, given.csv)


if __name__ == "__main__":
    main()
