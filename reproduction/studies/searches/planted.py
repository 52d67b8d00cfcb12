"""Critical searches of planted truths: do the intervals cover, and what does a run buy?

    searches/planted              # search, write planted.csv, report
    searches/planted --report     # report the file that is there

What is planted is in planted_searches.py, which the tests use too.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from recallscope.common.csv_files import read_csv, write_csv
from reproduction.studies.searches.planted_searches import covered, search

RESULTS = Path(__file__).with_name("planted.csv")
SEARCHES = 500


def report(rows: list[dict[str, object]]) -> str:
    right = sum((row["status"] == "ok") == row["inside"] for row in rows)
    inside = [row for row in rows if row["inside"]]
    share = sum(map(covered, inside)) / len(inside)
    everything = sum(map(covered, rows)) / len(rows)
    runs = np.mean([row["evaluations"] for row in rows])
    return (
        f"{len(rows)} searches, {runs:.0f} runs each on average: 95 % intervals cover "
        f"{share:.1%} of {len(inside)} thresholds within the range, {everything:.1%} of all; "
        f"{right} of {len(rows)} are right about whether the target is reached"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", action="store_true")
    if not parser.parse_args().report:
        with ProcessPoolExecutor(2) as pool:
            write_csv(list(pool.map(search, range(SEARCHES), chunksize=5)), RESULTS)
    print(report(read_csv(RESULTS)))


if __name__ == "__main__":
    main()
