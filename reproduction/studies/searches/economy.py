"""What a run buys: the error of log N* by a search, a uniform grid and bisection, at equal runs.

    searches/economy              # run all, write economy.csv, report
    searches/economy --report     # report the file that is there

On planted truths (those of planted_searches.py that lie within the range), and on ten real
problems, twelve times each. Their true N* is where a straight line crosses the target, through the
means of 200 or more fresh runs at each of two sizes, 10 % below and above where the searches point.

Uniform grid: one run at each of as many sizes, evenly spaced in the logarithm; N* is the mean of
the places where the line through the outcomes rises through the target. The same runs are read by
the posterior of the search too, to tell what comes of where one looks and what of how one reads.
Bisection: each outcome halves the range, down to 1 %; then it starts again with fresh seeds until
the runs are used up, and N* is the geometric mean of where it ended.

The methods are in search_economy.py, which the tests use too.
"""

from __future__ import annotations

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from recallscope import Problem, run
from recallscope.common.csv_files import read_csv, write_csv
from reproduction.studies.searches.search_economy import (
    BUDGET,
    REAL,
    economy_row,
    errors,
    planted_row,
    real_methods,
)

RESULTS = Path(__file__).with_name("economy.csv")
PLANTED, REPEATS = 200, 12
TRUTH_RUNS, MOST_TRUTH_RUNS, TRUTH_ERROR = 200, 600, 0.01


def true_crossing(problem: Problem, accuracy: str, near: float) -> tuple[float, float]:
    """log N* and its standard error, from runs at two sizes about a first guess."""
    points = near + np.log([0.9, 1.1])
    rates = np.empty((2, 0))
    while True:
        first = 10**6 + rates.shape[1]
        more = [
            [
                getattr(
                    run(problem.replace(samples=round(math.exp(x))), seed, dtype="float32"),
                    accuracy,
                )
                for seed in range(first + 10**5 * place, first + 10**5 * place + TRUTH_RUNS)
            ]
            for place, x in enumerate(points)
        ]
        rates = np.hstack([rates, more])
        means = rates.mean(axis=1)
        errors = rates.std(axis=1, ddof=1) / math.sqrt(rates.shape[1])
        slope = (means[1] - means[0]) / (points[1] - points[0])
        share = (0.5 - means[0]) / (means[1] - means[0])
        error = math.hypot((1 - share) * errors[0], share * errors[1]) / slope
        if error < TRUTH_ERROR or rates.shape[1] >= MOST_TRUTH_RUNS:
            return float(points[0] + share * (points[1] - points[0])), float(error)


def real(number: int) -> list[dict[str, object]]:
    """Twelve repeats of every method on one problem, each with different seeds."""
    import torch

    torch.set_num_threads(1)
    accuracy, problem = REAL[number]
    repeats = [real_methods(number, repeat) for repeat in range(REPEATS)]
    near = float(np.mean([found["search"] for found, _ in repeats]))
    truth, error = true_crossing(problem, accuracy, near)
    print(f"real {number}: N* = {math.exp(truth):.0f}, known to {error:.1%}", flush=True)
    return [economy_row("real", number, truth, error, *repeat) for repeat in repeats]


def report(rows: list[dict[str, object]]) -> str:
    lines = []
    for kind in ("planted", "real"):
        found = errors(rows, kind)
        of = len({row["problem"] for row in rows if row["kind"] == kind})
        lines.append(f"{kind}: {of} problems, {BUDGET} runs each; error of log N*, rms and mean")
        for name, (rms, mean) in found.items():
            times = mean / found["search"][1]
            lines.append(f"  {name:28} {rms:.4f}  {mean:.4f}  {times:.1f} times the search's mean")
        covered = [row["covered"] for row in rows if row["kind"] == kind]
        lines.append(f"  95 % intervals of the search cover {np.mean(covered):.1%}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", action="store_true")
    if not parser.parse_args().report:
        with ProcessPoolExecutor(2) as pool:
            rows = [row for many in pool.map(real, range(len(REAL))) for row in many]
            rows += [row for row in pool.map(planted_row, range(PLANTED), chunksize=5) if row]
        write_csv(rows, RESULTS)
    print(report(read_csv(RESULTS)))


if __name__ == "__main__":
    main()
