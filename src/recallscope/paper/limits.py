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

from recallscope.common.grouping import grouped_by
from recallscope.paper.intervals import UNKNOWN, mean_over
from recallscope.paper.verdict import LEVEL
from recallscope.problem import Problem
from recallscope.record import Record, Status
from recallscope.statistics.intervals import Interval
from recallscope.theory.accuracy import accuracies
from recallscope.theory.problem_arrays import arrays_of
from recallscope.validation.limits import changes, limiting

TARGET = 0.4  # of recall, at the border of a plane


class Limited(NamedTuple):
    """What limits an accuracy of a problem: by experiment, and by closed forms."""

    problem: Problem
    measured: str
    predicted: str


def limited(readings: Sequence[Record], accuracy: str = "recall_accuracy") -> list[Limited]:
    """For each problem, the noise with the most effect when removed, over its seeds."""
    by_problem = grouped_by(readings, attrgetter("problem"))
    every = list(map(changes, by_problem))
    predicted = _predicted(every, accuracy)
    return [
        Limited(problem, limiting(_measured(names, seeds, accuracy)), said)
        for (problem, seeds), names, said in zip(by_problem.items(), every, predicted, strict=True)
    ]


def _measured(names: Iterable[str], seeds: Sequence[Record], accuracy: str) -> dict[str, float]:
    return {
        change: math.fsum(seed.metric(f"{accuracy}_{change}") for seed in seeds) / len(seeds)
        for change in names
    }


def predicted_limits(problems: Iterable[Problem], accuracy: str = "recall_accuracy") -> list[str]:
    """The same by closed forms.

    >>> problem = Problem(vocab=256, samples=8192, dim=120, length=8, width=32, activation="relu")
    >>> predicted_limits([problem, problem.replace(width=4096, dim=24)])
    ['MLP noise', 'interference']
    """
    return _predicted(list(map(changes, problems)), accuracy)


def _predicted(every: Sequence[Mapping[str, Problem]], accuracy: str) -> list[str]:
    if not every:
        return []
    values = getattr(accuracies(arrays_of([p for each in every for p in each.values()])), accuracy)
    rest = iter(values.tolist())
    return [limiting({change: next(rest) for change in each}) for each in every]


def share_right(found: Sequence[Limited], noise: str) -> Interval:
    """The fraction of problems limited by a noise, of those where it should; exact interval."""
    judged = [each.measured == noise for each in found if each.predicted == noise]
    right, total = sum(judged), len(judged)
    if not total:
        return UNKNOWN
    low, high = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    return Interval(
        right / total,
        float(betaincinv(right, total - right + 1, low)) if right else 0.0,
        float(betaincinv(right + 1, total - right, high)) if right < total else 1.0,
    )


def border(runs: Sequence[Record], activation: str) -> list[dict[str, Any]]:
    """For each dimension the width at which recall reaches the target; 95 % intervals.

    `theory` is that of closed forms on the same widths, `limit` the noise that limits there by
    closed forms. Dimensions at which a seed does not come to it inside of the plane are left out.
    """
    by_seed: dict[int, dict[int, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    example = {}
    for run in runs:
        is_of_it = run.problem.activation == activation and run.status is Status.OK
        if is_of_it and run.problem.width:
            recall = run.accuracy("recall_accuracy")[0]
            by_seed[run.problem.dim][run.seed][run.problem.width] = recall
            example[run.problem.dim] = run.problem
    rows = []
    for dim, seeds in by_seed.items():
        widths = sorted(set.intersection(*(set(seed) for seed in seeds.values())))
        there = [example[dim].replace(width=width) for width in widths]
        theory = accuracies(arrays_of(there)).recall_accuracy
        found = [_crossing(widths, [seed[width] for width in widths]) for seed in seeds.values()]
        crossings = [each for each in found if each is not None]
        if len(crossings) < max(len(found), 2):
            continue
        log_width = mean_over(crossings, 0.95)
        nearest = min(there, key=lambda each: abs(math.log(each.width or 1) - log_width.mean))
        predicted = _crossing(widths, theory.tolist())
        rows.append(
            {"activation": activation, "dim": dim, "status": "ok", "runs": len(seeds) * len(widths)}
            | dict(zip(("value", "low", "high"), map(math.exp, log_width), strict=True))
            | {"log_mean": log_width.mean}
            | {"log_sd": max(float(np.std(crossings, ddof=1)) / math.sqrt(len(crossings)), 1e-6)}
            | {"theory": None if predicted is None else math.exp(predicted)}
            | {"limit": predicted_limits([nearest])[0]}
        )
    return rows


def _crossing(widths: Sequence[int], recall: Sequence[float]) -> float | None:
    """The logarithm of the width at which monotone recall reaches the target."""
    rising = isotonic_regression(recall).x
    place = int(np.searchsorted(rising, TARGET))
    if place in (0, len(widths)):
        return None
    low, high = (math.log(each) for each in widths[place - 1 : place + 1])
    part = (TARGET - rising[place - 1]) / (rising[place] - rising[place - 1])
    return float(low + part * (high - low))
