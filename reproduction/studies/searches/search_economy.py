"""The error of log N* by a search, a uniform grid and bisection, at equal runs.

searches/economy.py says how each of them works, and records them; tests repeat a part of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from recallscope import Problem, Record, run
from recallscope.measure.critical_search import CriticalSearch
from recallscope.statistics.threshold import Runs, locate
from reproduction.studies.searches.planted_searches import (
    HIGH,
    LOW,
    TESTS,
    draw_truth,
    interpolated,
    planted_record,
)

BUDGET = 32  # runs of each method
METHODS = ("search", "grid", "grid, read by the posterior", "bisection")

Outcome = Callable[[int, int], Record]  # of a size and a seed

# Attention alone and with an MLP, three accuracies, short and long sequences.
REAL = (
    ("recall_accuracy", Problem(vocab=512, samples=1, dim=96, length=16)),
    ("recall_accuracy", Problem(vocab=384, samples=1, dim=96, length=48, embedding="gaussian")),
    ("recall_accuracy", Problem(vocab=384, samples=1, dim=192, length=8, trigger_in_values=True)),
    ("recall_accuracy", Problem(vocab=256, samples=1, dim=96, length=8, width=1024)),
    ("first_gradient_accuracy", Problem(vocab=256, samples=1, dim=64, length=16)),
    ("first_gradient_accuracy", Problem(vocab=512, samples=1, dim=128, length=32)),
    (
        "first_gradient_accuracy",
        Problem(vocab=384, samples=1, dim=96, length=8, embedding="gaussian"),
    ),
    ("attention_accuracy", Problem(vocab=256, samples=1, dim=32, length=64)),
    ("attention_accuracy", Problem(vocab=512, samples=1, dim=48, length=96)),
    ("attention_accuracy", Problem(vocab=256, samples=1, dim=64, length=128)),
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
    """One run at each of as many sizes, evenly spaced in the logarithm."""
    sizes = np.round(np.geomspace(*ends, BUDGET)).astype(int)
    return [outcome(int(size), seed) for seed, size in enumerate(sizes)]


def bisected(accuracy: str, target: float, ends: tuple[int, int], outcome: Outcome) -> float:
    """The mean of the log sizes where bisections ended."""
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
    """Runs as the posterior reads them."""
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


def planted_row(case: int) -> dict[str, object] | None:
    """One planted truth by all methods, or nothing if it lies outside of the range."""
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
    return economy_row("planted", case, truth.crossing, 0.0, found, interval)


def real_methods(number: int, repeat: int) -> tuple[dict[str, float], tuple[float, float]]:
    """log N* of one real problem by each method, and the interval of the search."""
    accuracy, problem = REAL[number]

    def outcome(size: int, seed: int) -> Record:
        return run(problem.replace(samples=size), 1000 * repeat + seed, dtype="float32")

    return all_methods(problem, accuracy, 0.5, (problem.vocab // 4, 64 * problem.vocab), outcome)


def economy_row(
    kind: str,
    problem: int,
    truth: float,
    error: float,
    found: dict[str, float],
    interval: tuple[float, float],
) -> dict[str, object]:
    """How far each method is from the truth, as a row."""
    return (
        {"kind": kind, "problem": problem, "truth": round(math.exp(truth))}
        | {"truth_error": round(error, 5)}
        | {name: round(value - truth, 5) for name, value in found.items()}
        | {"covered": interval[0] <= truth <= interval[1]}
    )


def errors(rows: list[dict[str, object]], kind: str) -> dict[str, tuple[float, float]]:
    """Of each method: root mean square and mean absolute error of log N*."""
    of = {name: np.array([row[name] for row in rows if row["kind"] == kind]) for name in METHODS}
    return {
        name: (float(np.sqrt(np.mean(e**2))), float(np.mean(np.abs(e)))) for name, e in of.items()
    }
