"""A billion samples in one process: time and memory, for docs/performance.md.

    python studies/billion.py --csv studies/billion.csv

V = 4096, d = 64, L = 16, three steps, by the default engine. It takes ten minutes of one core.
Seconds are of CPU time: other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import resource
import time

from recallscope import Problem, run
from recallscope.common.csv_files import write_csv

PROBLEM = Problem(vocab=4096, samples=10**9, dim=64, length=16)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--csv", required=True)
    arguments = parser.parse_args()
    rows = []
    for samples in (10**6, 10**7, 10**8, 10**9):  # the earlier table was cut short
        before = time.process_time()
        record = run(PROBLEM.replace(samples=samples), seed=0)
        row = {
            "samples": samples,
            "engine": record.provenance.engine,
            "cpu_seconds": time.process_time() - before,
            "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            "recall": record.recall_accuracy,
        }
        print(row, flush=True)
        rows.append(row)
        write_csv(rows, arguments.csv)


if __name__ == "__main__":
    main()
