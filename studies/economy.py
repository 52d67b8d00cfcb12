"""What a run buys: the error of log N* by a search, a uniform grid and bisection, at equal runs.

    python studies/economy.py              # run all, write studies/economy.csv, report
    python studies/economy.py --report     # report the file that is there

On planted truths (those of tests/planted_searches.py that lie within the range), and on ten real
problems, twelve times each. Their true N* is where a straight line crosses the target, through the
means of 200 or more fresh runs at each of two sizes, 10 % below and above where the searches point.

Uniform grid: one run at each of as many sizes, evenly spaced in the logarithm; N* is the mean of
the places where the line through the outcomes rises through the target. The same runs are read by
the posterior of the search too, to tell what comes of where one looks and what of how one reads.
Bisection: each outcome halves the range, down to 1 %; then it starts again with fresh seeds until
the runs are used up, and N* is the geometric mean of where it ended.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from recallscope import Problem, Record, run
from recallscope.common.csv_files import read_csv, write_csv
from recallscope.measurement.critical import CriticalSearch
from recallscope.statistics.threshold import Runs, locate

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from planted_searches import HIGH, LOW, TESTS, draw_truth, interpolated, planted_record

RESULTS = Path(__file__).with_name("economy.csv")
BUDGET, PLANTED, REPEATS = 32, 200, 12
TRUTH_RUNS, MOST_TRUTH_RUNS, TRUTH_ERROR = 200, 600, 0.01
METHODS = ("search", "grid", "grid, read by the posterior", "bisection")

Outcome = Callable[[int, int], Record]  # of a size and a seed

# Attention alone and with an MLP, three accuracies, short and long sequences.
REAL = (
    ("recall_accuracy", Problem(vocab=512, samples=1, dim=96, length=16)),
    ("recall_accuracy", Problem(vocab=384, samples=1, dim=96, length=48, embedding="gaussian")),
    ("recall_accuracy", Problem(vocab=384, samples=1, dim=192, length=8, trigger_in_values=True)),
    ("recall_accuracy", Problem(vocab=256, samples=1, dim=96, length=8, width=1024)),
    ("one_step_accuracy", Problem(vocab=256, samples=1, dim=64, length=16)),
    ("one_step_accuracy", Problem(vocab=512, samples=1, dim=128, length=32)),
    ("one_step_accuracy", Problem(vocab=384, samples=1, dim=96, length=8, embedding="gaussian")),
    ("lock_accuracy", Problem(vocab=256, samples=1, dim=32, length=64)),
    ("lock_accuracy", Problem(vocab=512, samples=1, dim=48, length=96)),
    ("lock_accuracy", Problem(vocab=256, samples=1, dim=64, length=128)),
)


def searched(
    problem: Problem, accuracy: str, target: float, ends: tuple[int, int], outcome: Outcome
) -> tuple[float, tuple[float, float]]:
    """The median of the posterior and its 95 % interval, in log size."""
    search = CriticalSearch(
        problem,
        target=target,
        accuracy=accuracy,
        low=ends[0],
        high=ends[1],
        budget=BUDGET,
        precision=1e-9,
        prior=None,
    )
    while not search.done:
        search.tell([outcome(int(p.samples), seed) for p, seed in search.ask()])
    found = search.crossing
    return found.quantile(0.5), (found.quantile(0.025), found.quantile(0.975))


def on_a_grid(ends: tuple[int, int], outcome: Outcome) -> list[Record]:
    sizes = np.round(np.geomspace(*ends, BUDGET)).astype(int)
    return [outcome(int(size), seed) for seed, size in enumerate(sizes)]


def bisected(accuracy: str, target: float, ends: tuple[int, int], outcome: Outcome) -> float:
    runs = 0
    found: list[float] = []
    while runs < BUDGET:
        low, high = (math.log(end) for end in ends)
        while high - low > 0.01 and runs < BUDGET:
            middle = (low + high) / 2
            above = getattr(outcome(round(math.exp(middle)), runs), accuracy) >= target
            runs += 1
            low, high = (low, middle) if above else (middle, high)
        if high - low <= 0.01 or not found:
            found.append((low + high) / 2)
    return float(np.mean(found))


def runs_of(records: list[Record], accuracy: str) -> Runs:
    return Runs(
        np.array([math.log(record.problem.samples) for record in records]),
        np.array([getattr(record, accuracy) for record in records]),
        np.full(len(records), float(TESTS)),
    )


def all_methods(
    problem: Problem, accuracy: str, target: float, ends: tuple[int, int], outcome: Outcome
) -> tuple[dict[str, float], tuple[float, float]]:
    """log N* by each method, and the interval of the search."""
    search, interval = searched(problem, accuracy, target, ends, outcome)
    grid = on_a_grid(ends, outcome)
    bisection = bisected(accuracy, target, ends, outcome)
    logs = (math.log(ends[0]), math.log(ends[1]))
    read = locate(runs_of(grid, accuracy), target, *logs).quantile(0.5)
    found = (search, interpolated(grid, accuracy, target), read, bisection)
    return dict(zip(METHODS, found, strict=True)), interval


def planted(case: int) -> dict[str, object] | None:
    truth = draw_truth(np.random.default_rng([7, case]))
    if truth.crossing > math.log(HIGH):
        return None
    problem = Problem(vocab=512, samples=1, dim=64, length=16)
    found, interval = all_methods(
        problem,
        "recall_accuracy",
        truth.target,
        (LOW, HIGH),
        lambda size, seed: planted_record(truth, problem.replace(samples=size), seed, case),
    )
    return _row("planted", case, truth.crossing, 0.0, found, interval)


def _row(
    kind: str,
    problem: int,
    truth: float,
    error: float,
    found: dict[str, float],
    interval: tuple[float, float],
) -> dict[str, object]:
    return (
        {"kind": kind, "problem": problem, "truth": round(math.exp(truth))}
        | {"truth_error": round(error, 5)}
        | {name: round(value - truth, 5) for name, value in found.items()}
        | {"covered": interval[0] <= truth <= interval[1]}
    )


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
    """Twelve repeats of every method on one problem, each with seeds of its own."""
    import torch

    torch.set_num_threads(1)
    accuracy, problem = REAL[number]
    ends = (problem.vocab // 4, 64 * problem.vocab)
    repeats = []
    for repeat in range(REPEATS):

        def outcome(size: int, seed: int, first: int = 1000 * repeat) -> Record:
            return run(problem.replace(samples=size), first + seed, dtype="float32")

        repeats.append(all_methods(problem, accuracy, 0.5, ends, outcome))
    near = float(np.mean([found["search"] for found, _ in repeats]))
    truth, error = true_crossing(problem, accuracy, near)
    print(f"real {number}: N* = {math.exp(truth):.0f}, known to {error:.1%}", flush=True)
    return [_row("real", number, truth, error, *repeat) for repeat in repeats]


def errors(rows: list[dict[str, object]], kind: str) -> dict[str, tuple[float, float]]:
    """Of each method: root mean square and mean absolute error of log N*."""
    of = {name: np.array([row[name] for row in rows if row["kind"] == kind]) for name in METHODS}
    return {
        name: (float(np.sqrt(np.mean(e**2))), float(np.mean(np.abs(e)))) for name, e in of.items()
    }


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
            rows += [row for row in pool.map(planted, range(PLANTED), chunksize=5) if row]
        write_csv(rows, RESULTS)
    print(report(read_csv(RESULTS)))


if __name__ == "__main__":
    main()
