"""Which noise limits recall, and the required width on a plane of m and d, from runs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression  # type: ignore[import-untyped]
from scipy.special import betaincinv  # type: ignore[import-untyped]

from recallscope.common.status import Status
from recallscope.experiment.record import Record
from recallscope.plot.grouping import grouped_by
from recallscope.problem.problem import Problem
from recallscope.problem.rows import problem_of
from recallscope.statistics.intervals import Interval
from recallscope.theory.accuracy import accuracies
from recallscope.theory.problem_arrays import arrays_of
from reproduction.intervals import UNKNOWN, mean_over
from reproduction.noise_removal import ACCURACIES, changes, limiting
from reproduction.verdict import LEVEL

TARGET = 0.4  # of recall, at the border of a plane
PLANE = (
    *("vocab", "samples", "dim", "length", "width", "activation"),
    *("seed", "status", "recall_accuracy"),
)
"""Columns of the runs of a plane."""


class Limited(NamedTuple):
    """What limits an accuracy of a problem: by experiment, and by closed forms."""

    problem: Problem
    measured: str
    predicted: str


def limited(readings: Sequence[Record]) -> dict[str, list[Limited]]:
    """For each accuracy and problem, the noise with the most effect when it is removed."""
    by_problem = grouped_by(readings, attrgetter("problem"))
    predicted = predicted_limits(by_problem)
    return {
        accuracy: [
            Limited(problem, limiting(_measured(readings, accuracy)), noise)
            for (problem, readings), noise in zip(
                by_problem.items(), predicted[accuracy], strict=True
            )
        ]
        for accuracy in ACCURACIES
    }


def _measured(seeds: Sequence[Record], accuracy: str) -> dict[str, float]:
    """The mean accuracy after each change."""
    names = [name for name in seeds[0].metrics if name.startswith(accuracy)]
    return {
        name.removeprefix(f"{accuracy}_"): math.fsum(seed.metric(name) for seed in seeds)
        / len(seeds)
        for name in names
    }


def predicted_limits(problems: Iterable[Problem]) -> dict[str, list[str]]:
    """The same by closed forms: the noise that limits each problem, by accuracy.

    >>> problem = Problem(vocab=256, samples=8192, dim=120, length=8, width=32, activation="relu")
    >>> predicted_limits([problem, problem.replace(width=4096, dim=24)])["recall_accuracy"]
    ['MLP noise', 'interference']
    """
    changed = [changes(problem) for problem in problems]
    if not changed:
        return {accuracy: [] for accuracy in ACCURACIES}
    predicted = accuracies(
        arrays_of([change for changes in changed for change in changes.values()])
    )
    limits = {}
    for accuracy in ACCURACIES:
        values = iter(getattr(predicted, accuracy).tolist())
        limits[accuracy] = [
            limiting({change: next(values) for change in changes}) for changes in changed
        ]
    return limits


def share_right(limits: Sequence[Limited], noise: str) -> Interval:
    """The fraction of problems limited by a noise, of those where it should; exact interval."""
    judged = [limit.measured == noise for limit in limits if limit.predicted == noise]
    right, total = sum(judged), len(judged)
    if not total:
        return UNKNOWN
    low, high = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    return Interval(
        right / total,
        float(betaincinv(right, total - right + 1, low)) if right else 0.0,
        float(betaincinv(right + 1, total - right, high)) if right < total else 1.0,
    )


def border(runs: Sequence[Mapping[str, Any]], activation: str) -> list[dict[str, Any]]:
    """For each dimension the width at which recall reaches the target; 95 % intervals.

    `theory` is that of closed forms on the same widths, `limit` the noise that limits there by
    closed forms. Dimensions at which a seed does not come to it inside of the plane are left out.
    """
    by_seed: dict[int, dict[int, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    example = {}
    for run in runs:
        if run["activation"] == activation and run["status"] == Status.OK:
            by_seed[run["dim"]][run["seed"]][run["width"]] = run["recall_accuracy"]
            example[run["dim"]] = run
    widths = {
        dim: sorted(set.intersection(*(set(seed) for seed in seeds.values())))
        for dim, seeds in by_seed.items()
    }
    plane = [
        problem_of({**example[dim], "width": width}) for dim in widths for width in widths[dim]
    ]
    theory = iter(accuracies(arrays_of(plane)).recall_accuracy.tolist() if plane else [])
    rows, nearest = [], []
    for dim, seeds in by_seed.items():
        predicted = _crossing(widths[dim], [next(theory) for _ in widths[dim]])
        every_crossing = [
            _crossing(widths[dim], [seed[step] for step in widths[dim]]) for seed in seeds.values()
        ]
        crossings = [crossing for crossing in every_crossing if crossing is not None]
        if len(crossings) < max(len(every_crossing), 2):
            continue
        log_width = mean_over(crossings, 0.95)
        width = min(widths[dim], key=lambda width: abs(math.log(width) - log_width.mean))
        nearest.append(problem_of({**example[dim], "width": width}))
        sd = max(float(np.std(crossings, ddof=1)) / math.sqrt(len(crossings)), 1e-6)
        value, low, high = map(math.exp, log_width)
        rows.append(
            {
                "activation": activation,
                "dim": dim,
                "status": "ok",
                "runs": len(seeds) * len(widths[dim]),
                "value": value,
                "low": low,
                "high": high,
                "log_mean": log_width.mean,
                "log_sd": sd,
                "theory": None if predicted is None else math.exp(predicted),
            }
        )
    limits = predicted_limits(nearest)["recall_accuracy"]
    return [row | {"limit": limit} for row, limit in zip(rows, limits, strict=True)]


def _crossing(widths: Sequence[int], recall: Sequence[float]) -> float | None:
    """The logarithm of the width at which monotone recall reaches the target."""
    rising = isotonic_regression(recall).x
    place = int(np.searchsorted(rising, TARGET))
    if place in (0, len(widths)):
        return None
    low, high = (math.log(width) for width in widths[place - 1 : place + 1])
    part = (TARGET - rising[place - 1]) / (rising[place] - rising[place - 1])
    return float(low + part * (high - low))
