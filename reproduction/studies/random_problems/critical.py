"""The batch at which recall crosses one half: solved from closed forms, and found by simulation.

    random_problems/critical             # simulate, write critical.csv, report
    random_problems/critical --report    # compare the theory with the file that is there

Problems are drawn like those of design.py with V up to 512, and kept if simulation, not theory,
finds the crossing between N = V and N = 40 V.
"""

from __future__ import annotations

import argparse
import csv
import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch

from recallscope import Problem, run
from reproduction.studies.random_problems.design import draw_design
from reproduction.studies.random_problems.recorded_problems import ratios

RESULTS = Path(__file__).with_name("critical.csv")
PROBLEMS, DESIGN_SEED, TARGET = 30, 77, 0.5
SHOWN = ("vocab", "dim", "length", "width", "activation", "embedding", "trigger_in_values")
ROUGH_SEEDS, SEEDS_AT_ONCE, MOST_SEEDS = 6, 8, 120
MOST_PER_TOKEN = 40
WANTED_ERROR = 0.025


def recall(problem: Problem, samples: float, seeds: range) -> np.ndarray:
    at = problem.replace(samples=round(samples))
    return np.array([run(at, seed, dtype="float32").recall_accuracy for seed in seeds])


def simulated(problem: Problem) -> tuple[float, float, int] | None:
    """log N*, its standard error and the seeds it took.

    Halve in log N with a few seeds, then draw a line through two points about the crossing, with
    seeds until the error is small. Instances are shared by all N of a seed, so slopes are paired.
    """
    torch.set_num_threads(1)
    low, high = math.log(problem.vocab), math.log(MOST_PER_TOKEN * problem.vocab)
    for end, crosses in ((low, np.less), (high, np.greater)):
        if not crosses(recall(problem, math.exp(end), range(ROUGH_SEEDS)).mean(), TARGET):
            return None
    while high - low > 0.2:
        middle = (low + high) / 2
        below = recall(problem, math.exp(middle), range(ROUGH_SEEDS)).mean() < TARGET
        low, high = (middle, high) if below else (low, middle)
    points = (low - 0.1, high + 0.1)
    rates = np.empty((2, 0))
    while True:
        more = range(rates.shape[1], rates.shape[1] + SEEDS_AT_ONCE)
        rates = np.hstack([rates, [recall(problem, math.exp(x), more) for x in points]])
        means = rates.mean(axis=1)
        slope = (means[1] - means[0]) / (points[1] - points[0])
        crossing = points[0] + (TARGET - means[0]) / slope
        share = (crossing - points[0]) / (points[1] - points[0])
        at_crossing = (1 - share) * rates[0] + share * rates[1]
        error = at_crossing.std(ddof=1) / math.sqrt(rates.shape[1]) / slope
        if error < WANTED_ERROR or rates.shape[1] >= MOST_SEEDS:
            return crossing, float(error), rates.shape[1]


def simulate() -> None:
    candidates = [p for p in draw_design(800, DESIGN_SEED) if p.vocab <= 512]
    rows = []
    with ProcessPoolExecutor(2) as pool:
        for problem, found in zip(candidates, pool.map(simulated, candidates), strict=True):
            if found is None:
                continue
            crossing, error, seeds = found
            sizes = problem.to_dict()
            rows.append(
                {name: sizes[name] for name in SHOWN}
                | {"simulated": round(math.exp(crossing)), "error": f"{error:.4f}", "seeds": seeds}
            )
            print(f"{len(rows)}: {rows[-1]}", flush=True)
            if len(rows) == PROBLEMS:
                pool.shutdown(wait=False, cancel_futures=True)
                break
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", action="store_true")
    if not parser.parse_args().report:
        simulate()
    found = ratios(TARGET)
    within = sum(abs(ratio - 1) <= 0.1 for ratio in found)
    print(" ".join(f"{ratio:.3f}" for ratio in sorted(found)))
    print(f"solved N* within 10 % of simulated N* for {within} of {len(found)}")


if __name__ == "__main__":
    main()
