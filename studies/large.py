"""One large experiment cut over two workers: time per sample and memory from N = 10^6 to 10^8.

    python studies/large.py --csv studies/large.csv

V = 4096, d = 64, L = 16. The workers are there and warm. Time per sample is the record's own, from
drawing the instance to the last test; of a small batch several are run, and the median taken.
"""

from __future__ import annotations

import argparse
import os
import statistics
from pathlib import Path

from recallscope import Problem
from recallscope.common.csv_files import write_csv
from recallscope.executors.processes import Processes
from recallscope.sweeps.sharded import run_sharded

PROBLEM = Problem(vocab=4096, samples=10**6, dim=64, length=16)


def peak(pid: int) -> float:
    """Bytes of memory that a process has had at most."""
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--csv", help="write the measurements to a table")
    parser.add_argument("--largest", type=float, default=1e8)
    parser.add_argument("--dtype", default="float32")
    given = parser.parse_args()
    executor = Processes(2)
    rows = []
    sizes = [10**6] * 7 + [int(given.largest)] + [10**6] * 7
    for turn, samples in enumerate(sizes):
        problem = PROBLEM.replace(samples=samples)
        record = run_sharded(problem, turn, executor, 2, test_samples=4096, dtype=given.dtype)
        workers = [peak(worker.process.pid) for worker in executor._pool]
        rows.append(
            {
                "samples": samples,
                "seed": turn,
                "dtype": given.dtype,
                "seconds": record.provenance.elapsed_seconds,
                "nanoseconds_per_sample": 1e9 * record.provenance.elapsed_seconds / samples,
                "recall": record.recall_accuracy,
                "driver_bytes": peak(os.getpid()),
                "worker_bytes": max(workers),
            }
        )
        print(
            {name: f"{value:.4g}" if name != "dtype" else value for name, value in rows[-1].items()}
        )
    executor.close()
    small = [row["nanoseconds_per_sample"] for row in rows[1:] if row["samples"] == 10**6]
    (large,) = (row for row in rows if row["samples"] != 10**6)
    middle = statistics.median(small)
    print(
        f"N = {large['samples']:g}: {large['nanoseconds_per_sample']:.0f} ns a sample; N = 10^6: "
        f"{middle:.0f} (median of {len(small)}, {min(small):.0f} to {max(small):.0f}); "
        f"ratio {large['nanoseconds_per_sample'] / middle:.3f}"
    )
    before = rows[6]
    for who in ("driver", "worker"):
        print(
            f"peak memory of the {who}: {before[f'{who}_bytes'] / 2**20:.0f} MiB after N = 10^6, "
            f"{large[f'{who}_bytes'] / 2**20:.0f} MiB after the large one"
        )
    if given.csv:
        write_csv(rows, given.csv)


if __name__ == "__main__":
    main()
