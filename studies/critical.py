"""The batch at which recall crosses one half: solved from closed forms, and found by simulation.

    python studies/critical.py        # writes studies/critical.csv and prints the comparison

Problems are drawn like those of design.py, and kept if simulation, not theory, finds the crossing
between N = V and N = 100 V.
"""

from __future__ import annotations

import csv
import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch
from design import draw_design

from recallscope import Problem, run, solve

HERE = Path(__file__).parent
PROBLEMS, DESIGN_SEED, TARGET = 30, 77, 0.5
ROUGH_SEEDS, SEEDS = 4, 24


def recall(problem: Problem, samples: float, seeds: range) -> np.ndarray:
    at = problem.replace(samples=round(samples))
    return np.array([run(at, seed, dtype="float32").recall_accuracy for seed in seeds])


def simulated(problem: Problem) -> tuple[float, float] | None:
    """N* and its standard error: halve in log N, then one weighted line through five points."""
    torch.set_num_threads(1)
    low, high = math.log(problem.vocab), math.log(100 * problem.vocab)
    ends = [recall(problem, math.exp(x), range(ROUGH_SEEDS)).mean() for x in (low, high)]
    if not ends[0] < TARGET < ends[1]:
        return None
    while high - low > 0.3:
        middle = (low + high) / 2
        below = recall(problem, math.exp(middle), range(ROUGH_SEEDS)).mean() < TARGET
        low, high = (middle, high) if below else (low, middle)
    points = (low + high) / 2 + np.array([-0.3, -0.15, 0.0, 0.15, 0.3])
    # Worlds are shared by all N of a seed, so each seed gives a crossing of its own line.
    rates = np.stack([recall(problem, math.exp(x), range(SEEDS)) for x in points])
    lines = [np.polyfit(points, rates[:, seed] - TARGET, 1) for seed in range(SEEDS)]
    slope, height = np.mean(lines, axis=0)
    crossing = -height / slope
    error = np.std([a * crossing + b for a, b in lines], ddof=1) / math.sqrt(SEEDS) / slope
    return math.exp(crossing), float(error)


def main() -> None:
    candidates = draw_design(400, DESIGN_SEED)
    rows = []
    with ProcessPoolExecutor(2) as pool:
        for problem, found in zip(candidates, pool.map(simulated, candidates), strict=True):
            if found is None:
                continue
            solved = solve(problem, "samples", TARGET).value or math.inf
            rows.append(
                problem.to_dict()
                | {"simulated": round(found[0]), "error": found[1], "solved": solved}
                | {"ratio": solved / found[0]}
            )
            print(f"{len(rows)}: {rows[-1]['ratio']:.3f} ± {found[1]:.3f} {problem}", flush=True)
            if len(rows) == PROBLEMS:
                pool.shutdown(wait=False, cancel_futures=True)
                break
    with (HERE / "critical.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    ratios = np.array([row["ratio"] for row in rows])
    within = int((np.abs(ratios - 1) <= 0.1).sum())
    print(f"solved N* within 10 % of simulated N* for {within} of {len(rows)}")


if __name__ == "__main__":
    main()
