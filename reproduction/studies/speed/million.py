"""A store of millions of records: opened, filtered, compacted, and a sweep resumed on it.

    speed/million --records 1000000 --csv million.csv

The record of one tiny run is repeated under as many keys. Its numbers are drawn again, or they
would compress. Shards have 20,000 records. Each measurement is a separate process, taken
in turns with the same by Arrow and Python alone: files are read and hashed, keys are put into a
dictionary and looked up, columns are filtered, and tables are put together and written.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from recallscope import Problem, Store, run, sweep
from recallscope.common.csv_files import write_csv
from recallscope.experiment.cell import Settings
from recallscope.sweeps.store.cell_keys import CellKeys
from recallscope.sweeps.store.schema import KEY, KeyedRecord, to_table
from reproduction.studies.speed.turns import Ratio

SHARD = 20_000
SEEDS = 1000
NUMBERS = ("score_signal", "score_noise", "trigger_cosine", "second_value_cosine")
WAYS = ("open", "resume", "filter", "compact")
COLUMNS = ["samples", "dim", "recall_accuracy", "score_noise"]


def problems(count: int) -> list[Problem]:
    return [Problem(vocab=16, samples=32 + number, dim=8, length=4) for number in range(count)]


def fill(place: str, records: int) -> None:
    """Write so many records, each under its own key."""
    store, key = Store(place), CellKeys(Settings())
    first, rng = run(problems(1)[0], 0, dtype="float32"), np.random.default_rng(0)
    table = to_table([KeyedRecord(key((first.problem, 0)), first)]).take([0] * SHARD)
    every, at_once = problems(records // SEEDS), SHARD // SEEDS
    for start in range(0, len(every), at_once):
        part = every[start : start + at_once]
        seeds = np.tile(np.arange(SEEDS), len(part))
        keys = [key((problem, seed)) for problem in part for seed in range(SEEDS)]
        samples = np.repeat([float(problem.samples) for problem in part], SEEDS)
        columns = {"key": pa.array(keys, KEY), "seed": seeds, "samples": samples}
        columns |= {name: rng.random(len(seeds)) for name in NUMBERS}
        shard = table.slice(0, len(seeds))
        for name, values in columns.items():
            place_of = shard.column_names.index(name)
            shard = shard.set_column(place_of, shard.schema.field(name), pa.array(values))
        store._rows.append(shard)


def measure(what: str, place: str, records: int) -> None:
    store = Store(place)
    if what == "open":
        assert len(store.index().statuses) == records
    elif what == "resume":
        cells = ((p, seed) for p in problems(records // SEEDS) for seed in range(SEEDS))
        assert sweep(cells, place).known == records
    elif what == "filter":
        table = store.table(COLUMNS)
        assert 0 < table.filter(pc.field("score_noise") > 0.999).num_rows < records / 500
    else:
        before, after = store.compact()
        assert before > after


def bare(what: str, place: str, records: int) -> None:
    """The same without the checks, the formats and the locks of a store."""
    files = [path for path in Path(place).iterdir() if path.suffix == ".parquet"]
    contents = (path.read_bytes() for path in files)
    hashed = (pa.BufferReader(each) for each in contents if hashlib.sha256(each).digest())
    if what == "compact":
        tables = []
        for number, file in enumerate(hashed, 1):
            tables.append(pq.read_table(file, use_threads=False))
            if number % 26 == 0 or number == len(files):
                joined = pa.concat_tables(tables).unify_dictionaries()
                pq.write_table(joined, Path(place) / f"{number}.joined", compression="zstd")
                tables = []
    elif what == "filter":
        table = pa.concat_tables(
            pq.read_table(file, columns=COLUMNS, use_threads=False) for file in hashed
        )
        assert 0 < table.filter(pc.field("score_noise") > 0.999).num_rows < records / 500
    else:
        known: dict[bytes, str] = {}
        for file in hashed:
            table = pq.read_table(file, columns=["key", "status"], use_threads=False)
            known.update(zip(table["key"].to_pylist(), table["status"].to_pylist(), strict=True))
        assert len(known) == records
        if what == "resume":
            key = CellKeys(Settings())
            every = problems(records // SEEDS)
            assert all(key((p, seed)) in known for p in every for seed in range(SEEDS))


def timed(what: str, by: str, place: str, records: int) -> dict[str, float]:
    """In a separate process: seconds, and the peak memory of that process."""
    started, processor = time.perf_counter(), time.process_time()
    (measure if by == "store" else bare)(what, place, records)
    return {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - processor,
        "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--records", type=int, default=10**6)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    parser.add_argument("--csv", help="write the measurements to a table")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(timed(*given.measure, given.records)))
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        whole, part = str(Path(folder) / "store"), str(Path(folder) / "copy")
        fill(whole, given.records)
        size = sum(path.stat().st_size for path in Path(whole).glob("*.parquet"))
        shards = Store(whole).files()
        print(
            f"{given.records} records, {shards} files, {size / 1e6:.0f} MB, "
            f"written in {time.perf_counter() - started:.0f} s",
            flush=True,
        )
        for what in given.ways:
            for turn in range(given.turns):
                for by in ("bare", "store"):
                    shutil.copytree(whole, part)
                    command = [sys.executable, __file__, "--records", str(given.records)]
                    done = subprocess.run(
                        [*command, "--measure", what, by, part],
                        stdout=subprocess.PIPE,
                        text=True,
                        check=True,
                    )
                    shutil.rmtree(part)
                    row = {"what": what, "by": by, "records": given.records, "turn": turn}
                    rows.append(row | json.loads(done.stdout))
                    if given.csv:
                        write_csv(rows, given.csv)
            mine, others = (
                [row for row in rows if row["what"] == what and row["by"] == by]
                for by in ("store", "bare")
            )
            seconds = [row["cpu_seconds"] for row in mine]
            ratio = Ratio.of_turns(seconds, [row["cpu_seconds"] for row in others])
            print(
                f"{what}: {np.median(seconds):.2f} s of a core ({min(seconds):.2f} to "
                f"{max(seconds):.2f}), {max(row['peak_bytes'] for row in mine) / 2**20:.0f} MiB; "
                f"over bare: {ratio}",
                flush=True,
            )


if __name__ == "__main__":
    main()
