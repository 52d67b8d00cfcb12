"""Any estimator that sees only the first gradient faces the same product."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression  # type: ignore[import-untyped]

from recallscope.common.grouping import grouped_by
from recallscope.paper.analysis import powers
from recallscope.paper.claim import Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.findings import finding_of
from recallscope.paper.intervals import extreme, mean_over
from recallscope.paper.series import measured_series
from recallscope.paper.verdict import LEVEL
from recallscope.problem import Problem
from recallscope.record import Record
from recallscope.results.panels import Kind, Series
from recallscope.statistics.intervals import Interval
from recallscope.theory.capacity import resized
from recallscope.theory.lower_bound import bound

_SIZES = ("dim", "length", "vocab")
_TARGETS = {"half the facts": 0.5, "most facts": 0.9}


class Decoded(NamedTuple):
    """The logarithm of the batch at which a decoder finds a target fraction of facts, by instance.

    If an instance reaches it before the smallest batch, or not by the largest, it has that batch
    instead, and the interval is open there.
    """

    problem: Problem
    target: float
    decoder: str
    instances: list[float]
    too_early: bool
    too_late: bool
    bound: float

    def log_samples(self, level: float) -> Interval:
        """The mean over instances; only these are independent, as each is seen at every batch."""
        mean, low, high = mean_over(self.instances, level)
        low, high = (-math.inf if self.too_early else low, math.inf if self.too_late else high)
        return Interval(mean, low, high)

    def over_bound(self, level: float) -> Interval:
        """N* + V over that of the bound: its formula is a product in N + V, not in N."""
        vocab = self.problem.vocab
        return Interval(
            *(
                end if math.isinf(end) else (math.exp(end) + vocab) / (self.bound + vocab)
                for end in self.log_samples(level)
            )
        )

    def row(self) -> dict[str, Any]:
        """A row of a table; 95 % intervals."""
        reached = not (self.too_early or self.too_late)
        mean, low, high = (
            math.exp(end) if math.isfinite(end) else None for end in self.log_samples(0.95)
        )
        over = self.over_bound(0.95)
        return {
            "target": self.target,
            "vocab": self.problem.vocab,
            "dim": self.problem.dim,
            "length": self.problem.length,
            "decoder": self.decoder,
            "status": "ok" if reached else "not_reached",
            "value": mean if reached else None,
            "low": low,
            "high": high,
            "bound": self.bound,
            # Of N* + V over the bound's; treated as normal, as a fit does.
            "log_mean": math.log(over.mean) if reached else None,
            "log_sd": math.log(over.high / over.low) / 3.92 if reached else None,
        }


def analyse(evidence: Evidence) -> Finding:
    readings = evidence.measures("decoders")
    decoded = {which: _decoded(readings, target) for which, target in _TARGETS.items()}
    best = {which: _best(each) for which, each in decoded.items()}
    every = [each for of_target in decoded.values() for each in of_target]
    # Extremes of many: the level of each is corrected for their number.
    level = 1 - (1 - LEVEL) / len(every)
    all_of_them = [each.over_bound(level) for each in every]
    best_of_them = [each.over_bound(level) for of_it in best.values() for each in of_it]
    left = {
        which: powers([row for row in map(Decoded.row, each) if row["status"] == "ok"], *_SIZES)
        for which, each in best.items()
    }
    length = max(each.problem.length for each in every)
    half = [each for each in decoded["half the facts"] if each.problem.length == length]
    return finding_of(
        "lower-bound",
        left=left,
        lowest=extreme(min, all_of_them),
        nearest=min(each.mean for each in best_of_them),
        farthest=extreme(max, best_of_them),
        best=" or ".join(sorted({each.decoder for of_it in best.values() for each in of_it})),
        reach={name: _reach(every, name) for name in _SIZES},
        series=[_series_of(half)],
        rows=[each.row() for each in every],
    )


def _reach(decoded: Sequence[Decoded], name: str) -> str:
    sizes = [getattr(each.problem, name) for each in decoded]
    return f"{max(sizes) / min(sizes):.2g}"


def _decoded(readings: Sequence[Record], target: float) -> list[Decoded]:
    groups = grouped_by(readings, lambda reading: resized(reading.problem, "samples", 1))
    limits = {problem: bound(problem, target).samples for problem in groups}
    return [
        _crossings(problem, decoder, group, target, limits[problem])
        for problem, group in groups.items()
        for decoder in readings[0].metrics
    ]


def _crossings(
    problem: Problem, decoder: str, readings: Sequence[Record], target: float, limit: float
) -> Decoded:
    """In each instance, where the accuracy crosses the target: straight lines over log N."""
    curves: dict[int, dict[float, float]] = defaultdict(dict)
    for reading in readings:
        curves[reading.seed][math.log(reading.problem.samples)] = reading.metric(decoder)
    instances, too_early, too_late = [], False, False
    for curve in curves.values():
        x = sorted(curve)
        rate = isotonic_regression([curve[each] for each in x]).x
        too_early |= bool(rate[0] >= target)
        too_late |= bool(rate[-1] < target)
        # Where it is flat, the first place is taken.
        steps = np.concatenate([[True], np.diff(rate) > 0])
        instances.append(float(np.interp(target, rate[steps], np.array(x)[steps])))
    return Decoded(problem, target, decoder, instances, too_early, too_late, limit)


def _best(decoded: Sequence[Decoded]) -> list[Decoded]:
    """The decoder that needs the smallest batch, of each problem."""
    of_problems = grouped_by(decoded, attrgetter("problem")).values()
    return [min(each, key=lambda decoder: np.mean(decoder.instances)) for each in of_problems]


def _series_of(decoded: Sequence[Decoded]) -> list[Series]:
    """One series for each decoder, and the bound."""
    space = sorted(map(_space, decoded))
    return [
        *(
            measured_series(name, [(_space(each), each.over_bound(0.95)) for each in here])
            for name, here in grouped_by(decoded, attrgetter("decoder")).items()
        ),
        Series("lower bound", Kind.REFERENCE, [space[0], space[-1]], [1.0, 1.0]),
    ]


def _space(decoded: Decoded) -> float:
    """Parameters for each that the capacity threshold asks for, but for a constant."""
    p = decoded.problem
    return p.dim**2 / (p.vocab * math.log(p.vocab))
