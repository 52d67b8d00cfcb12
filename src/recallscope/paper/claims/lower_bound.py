"""Any estimator that sees only the first gradient faces the same product."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression  # type: ignore[import-untyped]

from recallscope.paper.analysis import (
    factor,
    law,
    mean_over,
    measured_series,
    moved,
    over_dimensions,
    poor_fit_note,
    powers,
    shown,
)
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.verdict import LEVEL, judge
from recallscope.plotting.panels import Kind, Picture, Series
from recallscope.problem import Problem
from recallscope.record import Record
from recallscope.statistics.intervals import Interval
from recallscope.theory.lower_bound import bound

_TARGET = 0.5
_SAME = 0.5
_CLOSE = 10.0


class Decoded(NamedTuple):
    """The logarithm of the batch at which a decoder tells half the facts, in each instance.

    One in which it does so before the smallest batch, or not by the largest, has the batch's
    end instead, and the interval is open there.
    """

    problem: Problem
    decoder: str
    instances: list[float]
    too_early: bool
    too_late: bool
    bound: float

    def log_samples(self, level: float) -> Interval:
        """The mean over instances: they are what is independent, as each is seen at every batch."""
        mean, low, high = mean_over(self.instances, level)
        return Interval(
            mean,
            -math.inf if self.too_early else low,
            math.inf if self.too_late else high,
        )

    def over_bound(self, level: float) -> Interval:
        """The critical sample size over the bound."""
        return factor(moved(self.log_samples(level), -math.log(self.bound)))

    def row(self) -> dict[str, Any]:
        """A row of a table; 95 % intervals."""
        reached = not (self.too_early or self.too_late)
        size = self.log_samples(0.95)
        mean, low, high = (math.exp(end) if math.isfinite(end) else None for end in size)
        return {
            "vocab": self.problem.vocab,
            "dim": self.problem.dim,
            "length": self.problem.length,
            "decoder": self.decoder,
            "status": "ok" if reached else "not_reached",
            "value": mean if reached else None,
            "low": low,
            "high": high,
            "log_mean": size.mean if reached else None,
            # As if from a normal law, which is what a fit takes it for.
            "log_sd": (size.high - size.low) / 3.92 if reached else None,
            "bound": self.bound,
        }


def analyse(evidence: Evidence) -> Finding:
    decoded = _decoded(evidence.measures("decoders"))
    best = _best(decoded)
    # Extremes of many: each at a level that leaves all of them right together.
    level = 1 - (1 - LEVEL) / len(decoded)
    all_of_them = [each.over_bound(level) for each in decoded]
    best_of_them = [each.over_bound(level) for each in best]
    lowest = Interval(*(min(ends) for ends in zip(*all_of_them, strict=True)))
    farthest = Interval(*(max(ends) for ends in zip(*best_of_them, strict=True)))
    rows = [each.row() for each in decoded]
    best_rows = [each.row() for each in best if each.row()["status"] == "ok"]
    best_law = law(best_rows, ["dim", "length"])
    measured = powers(best_law)
    # The bound is known, so its powers over the same problems are numbers without an error.
    bounds = [row | {"log_mean": math.log(row["bound"]), "log_sd": 1e-3} for row in best_rows]
    own = powers(law(bounds, ["dim", "length"]))
    beside = {name: moved(measured[name], -own[name].mean) for name in measured}
    same = {"above": -_SAME, "below": _SAME}
    judgements = [
        judge("smallest batch of any decoder over the bound", lowest, above=1.0),
        judge("largest batch of the best decoder over the bound", farthest, below=_CLOSE),
        judge("best decoder: power of d in N*, minus the bound's", beside["dim"], **same),
        judge("best decoder: power of L in N*, minus the bound's", beside["length"], **same),
    ]
    return Finding(
        judgements=judgements,
        answer=(
            f"The smallest batch of any decoder is {shown(lowest)} times the bound. That of the "
            f"best decoder is at most {shown(farthest)} times the bound; it goes as "
            f"d^{shown(measured['dim'])} · L^{shown(measured['length'])}"
            f"{poor_fit_note(best_law)}. Over the same problems the bound has the powers "
            f"{own['dim'].mean:.2f} and {own['length'].mean:.2f}, so that the decoder's differ "
            f"from them by {shown(beside['dim'])} and {shown(beside['length'])}; {_SAME:g} was "
            "allowed.".replace("-", "−")
        ),
        picture=Picture(
            caption="Batches at which each decoder of the first gradient tells half the facts, and "
            "our lower bound for all of them. Three-step descent uses two further gradients and is "
            "not bound by it. The bound takes the gradient's noise for Gaussian. Bars are 95 %.",
            panels=[
                over_dimensions(
                    f"L = {length}", _series_of([d for d in decoded if d.problem.length == length])
                )
                for length in sorted({each.problem.length for each in decoded})
            ],
        ),
        rows=rows,
    )


def _decoded(readings: Sequence[Record]) -> list[Decoded]:
    groups: dict[Problem, list[Record]] = defaultdict(list)
    for reading in readings:
        groups[reading.problem.replace(samples=1)].append(reading)
    return [
        _crossings(problem, decoder, group)
        for problem, group in groups.items()
        for decoder in readings[0].metrics
    ]


def _crossings(problem: Problem, decoder: str, readings: Sequence[Record]) -> Decoded:
    """In each instance, where the accuracy crosses the target: straight lines over log N."""
    curves: dict[int, dict[float, float]] = defaultdict(dict)
    for reading in readings:
        curves[reading.seed][math.log(reading.problem.samples)] = reading.metric(decoder)
    instances, too_early, too_late = [], False, False
    for curve in curves.values():
        x = sorted(curve)
        rate = isotonic_regression([curve[each] for each in x]).x
        too_early |= bool(rate[0] >= _TARGET)
        too_late |= bool(rate[-1] < _TARGET)
        # Where it is flat any place is as good; the first is taken.
        steps = np.concatenate([[True], np.diff(rate) > 0])
        instances.append(float(np.interp(_TARGET, rate[steps], np.array(x)[steps])))
    limit = bound(problem, _TARGET).samples
    return Decoded(problem, decoder, instances, too_early, too_late, limit)


def _best(decoded: Sequence[Decoded]) -> list[Decoded]:
    """The decoder that needs the smallest batch, of each problem."""
    best: dict[Problem, Decoded] = {}
    for each in decoded:
        known = best.get(each.problem)
        if known is None or np.mean(each.instances) < np.mean(known.instances):
            best[each.problem] = each
    return list(best.values())


def _series_of(decoded: Sequence[Decoded]) -> list[Series]:
    """One series for each decoder, and the bound."""
    names = list(dict.fromkeys(each.decoder for each in decoded))
    series = []
    for place, name in enumerate(names):
        here = [each for each in decoded if each.decoder == name]
        dims = [each.problem.dim for each in here]
        sizes = [factor(each.log_samples(0.95)) for each in here]
        series.append(measured_series(name, dims, sizes, place))
    of_bound = [each for each in decoded if each.decoder == names[0]]
    series.append(
        Series(
            label="lower bound",
            kind=Kind.REFERENCE,
            x=[each.problem.dim for each in of_bound],
            y=[each.bound for each in of_bound],
        )
    )
    return series


CLAIM = Claim(
    name="lower-bound",
    title="No reader of the first gradient escapes the product",
    statement="Any estimator that sees only the gradient at initialisation needs a batch that "
    "depends on the same product of sizes: the product is a property of the problem, not of one "
    "algorithm.",
    support="No decoder of the first gradient has a critical sample size below our lower bound; "
    f"the best of five is within a factor {_CLOSE:g} of it everywhere; and its powers of d and L "
    f"are those of the bound to within {_SAME:g}.",
    contradict="A decoder below the bound, a best decoder more than that factor away, or powers "
    "that differ by more.",
    background="The first gradient is a matrix of d × d numbers, so it can carry only so much "
    "about which token goes with which label, whoever reads it. Our bound counts that in bits. The "
    "decoders range from using the gradient as it is to message passing.",
    sweeps=("decoders",),
    analyse=analyse,
    plain="no cleverer reading of the first gradient gets by with much less data: the need for "
    "data is in the problem, not in the method.",
)
