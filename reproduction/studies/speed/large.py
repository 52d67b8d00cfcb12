"""One large experiment cut over two workers: time per sample and memory from N = 10^6 to 10^9.

    speed/large --sizes 1e6 1e7 1e8 1e9 --csv large.csv

V = 4096, d = 64, L = 16 unless said otherwise. The workers are there and warm. Between the runs the
bare operations of the engine are timed, on samples that are in memory. Time per sample is CPU time
of all processes, from drawing the instance to the last test, and the ratio is of one run to the
bare operations before and after it.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from pathlib import Path

import numpy as np
import torch

from recallscope import Instance, Problem
from recallscope.common.csv_files import write_csv
from recallscope.sweeps.executors.processes import Processes
from recallscope.sweeps.sharded import run_sharded
from recallscope.three_step.batch import Tile
from reproduction.studies.speed.bench import BARE

BARE_SAMPLES = 2**16
BARE_SECONDS = 2.0


def peak(pid: int) -> float:
    """Bytes of memory that a process has had at most."""
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def cpu_seconds(pids: list[int]) -> float:
    """CPU time that living processes have used."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def bare_per_sample(problem: Problem, dtype: str) -> float:
    """CPU seconds of the bare operations for one sample: the median of some seconds of them."""
    part = min(BARE_SAMPLES, int(problem.samples))
    instance = Instance.make(problem.replace(samples=part), seed=0, dtype=dtype)
    tile, took = Tile.of(instance.task.draw(0, part)), []
    while sum(took) < BARE_SECONDS or len(took) < 3:
        before = time.process_time()
        BARE["stream"](instance, tile)
        took.append(time.process_time() - before)
    return float(np.median(took)) / part


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--csv", help="write the measurements to a table")
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e6, 1e7, 1e8, 1e9])
    parser.add_argument("--vocab", type=int, default=4096)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--length", type=int, default=16)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--dtype", default="float32")
    given = parser.parse_args()
    torch.set_num_threads(1)
    sizes = {"vocab": given.vocab, "dim": given.dim, "length": given.length}
    executor, rows = Processes(given.workers), []
    problem = Problem(samples=10**5, **sizes)
    run_sharded(problem, 0, executor, given.workers, test_samples=4096, dtype=given.dtype)
    pids = [os.getpid(), *(worker.process.pid for worker in executor._pool)]
    bare = bare_per_sample(problem, given.dtype)
    for seed, samples in enumerate(map(int, given.sizes)):
        problem = problem.replace(samples=samples)
        before = cpu_seconds(pids)
        record = run_sharded(
            problem,
            seed,
            executor,
            given.workers,
            test_samples=4096,
            dtype=given.dtype,
            progress=lambda done, total: print(f"{done / total:.3f}", end="\r", flush=True),
        )
        took, load = cpu_seconds(pids) - before, os.getloadavg()[0]
        bare_before, bare = bare, bare_per_sample(problem, given.dtype)
        rows.append(
            sizes
            | {
                "samples": samples,
                "seed": seed,
                "dtype": given.dtype,
                "workers": given.workers,
                "seconds": record.provenance.elapsed_seconds,
                "cpu_seconds": took,
                "bare_seconds_before": bare_before * samples,
                "bare_seconds_after": bare * samples,
                "fraction_of_bare": samples * (bare_before + bare) / 2 / took,
                "load": load,
                "recall": record.recall_accuracy,
                "driver_bytes": peak(pids[0]),
                "worker_bytes": max(map(peak, pids[1:])),
            }
        )
        print({name: value for name, value in rows[-1].items() if name != "dtype"}, flush=True)
        if given.csv:
            write_csv(rows, given.csv)
    executor.close()
    children = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"largest worker by getrusage: {children / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
