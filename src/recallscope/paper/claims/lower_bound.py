"""Any estimator that sees only the first gradient faces the same product."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from recallscope.intervals import Interval
from recallscope.measurement.threshold import Crossing, Runs, locate
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.evidence import Evidence, Reading
from recallscope.paper.numbers import factor, moved, powers, shown
from recallscope.paper.verdict import LEVEL, judge
from recallscope.pictures.panels import Kind, Panel, Picture, Series
from recallscope.problem import Problem
from recallscope.theory.lower_bound import bound

_TARGET = 0.5
_SAME = 0.5
_CLOSE = 10.0


class Decoded(NamedTuple):
    """Where one decoder tells half the facts of one problem, and the bound there."""

    problem: Problem
    decoder: str
    crossing: Crossing
    bound: float

    def log_samples(self, level: float) -> Interval:
        """The logarithm of its critical batch."""
        start, end = self.crossing.range
        first, last = (self.crossing.quantile(q) for q in ((1 - level) / 2, (1 + level) / 2))
        return Interval(
            min(max(self.crossing.quantile(0.5), start), end),
            first if first >= start else -math.inf,
            last if last <= end else math.inf,
        )

    def over_bound(self, level: float = LEVEL) -> Interval:
        """Its critical batch over the bound."""
        return factor(moved(self.log_samples(level), -math.log(self.bound)))

    def row(self) -> dict[str, Any]:
        """A row of a table; 95 % intervals."""
        reached = self.crossing.status == "ok"
        mean, low, high = (
            math.exp(end) if math.isfinite(end) else None for end in self.log_samples(0.95)
        )
        return {
            "vocab": self.problem.vocab,
            "dim": self.problem.dim,
            "length": self.problem.length,
            "decoder": self.decoder,
            "status": str(self.crossing.status),
            "value": mean if reached else None,
            "low": low,
            "high": high,
            "log_mean": self.crossing.mean if reached else None,
            "log_sd": self.crossing.sd if reached else None,
            "bound": self.bound,
        }


def analyse(evidence: Evidence) -> Finding:
    decoded = _decoded(evidence.readings("decoders"))
    reached = [each for each in decoded if each.crossing.status == "ok"]
    lowest = min((each.over_bound() for each in decoded), key=lambda ratio: ratio.low)
    best = _best(decoded)
    farthest = max((each.over_bound() for each in best), key=lambda ratio: ratio.high)
    closest = min((each.over_bound() for each in best), key=lambda ratio: ratio.mean)
    rows = [each.row() for each in decoded]
    measured = powers([each.row() for each in best], ["dim", "length"])
    own = powers(
        [
            each.row() | {"status": "ok", "log_mean": math.log(each.bound), "log_sd": 1e-3}
            for each in best
        ],
        ["dim", "length"],
    )
    beside = {name: moved(measured[name], -own[name].mean) for name in measured}
    judgements = [
        judge("smallest batch of any decoder over the bound", lowest, above=1.0),
        judge("largest batch of the best decoder over the bound", farthest, below=_CLOSE),
        judge(
            "best decoder: power of d in N*, minus the bound's",
            beside["dim"],
            above=-_SAME,
            below=_SAME,
        ),
        judge(
            "best decoder: power of L in N*, minus the bound's",
            beside["length"],
            above=-_SAME,
            below=_SAME,
        ),
    ]
    lengths = sorted({each.problem.length for each in decoded})
    decoders = list(dict.fromkeys(each.decoder for each in decoded))
    return Finding(
        judgements=judgements,
        answer=(
            f"The smallest batch of any decoder is {shown(lowest)} times the bound. The best "
            f"decoder needs from {shown(closest)} to {shown(farthest)} times the bound's "
            f"samples, and its batch goes as d to the {shown(measured['dim'])} and L to the "
            f"{shown(measured['length'])}; the bound itself over the same problems as "
            f"{own['dim'].mean:.2f} and {own['length'].mean:.2f}.".replace("-", "−")
        ),
        picture=Picture(
            caption="Batches at which each decoder of the first gradient tells half the facts, and "
            "our lower bound for all of them. Three-step descent uses two further gradients and is "
            "not bound by it. The bound takes the gradient's noise for Gaussian. Bars are 95 %.",
            panels=[
                Panel(
                    title=f"L = {length}",
                    x="d, dimensions",
                    y="N*, samples",
                    log_x=True,
                    log_y=True,
                    series=[
                        *(
                            _series(name, place, length, decoded)
                            for place, name in enumerate(decoders)
                            if _any(name, length, reached)
                        ),
                        Series(
                            label="lower bound",
                            kind=Kind.REFERENCE,
                            x=[e.problem.dim for e in best if e.problem.length == length],
                            y=[e.bound for e in best if e.problem.length == length],
                        ),
                    ],
                )
                for length in lengths
            ],
        ),
        rows=rows,
    )


def _decoded(readings: Sequence[Reading]) -> list[Decoded]:
    groups: dict[Problem, list[Reading]] = defaultdict(list)
    for reading in readings:
        groups[reading.problem.replace(samples=1)].append(reading)
    found = []
    decoders = list(readings[0].values)
    for problem, group in groups.items():
        x = np.log([float(reading.problem.samples) for reading in group])
        tests = np.full(len(group), float(problem.vocab))
        limit = bound(problem, _TARGET).samples
        for decoder in decoders:
            rate = np.array([reading.values[decoder] for reading in group])
            crossing = locate(Runs(x, rate, tests), _TARGET, x.min(), x.max(), None)
            found.append(Decoded(problem, decoder, crossing, limit))
    return found


def _best(decoded: Sequence[Decoded]) -> list[Decoded]:
    """The decoder that needs the smallest batch, of each problem."""
    best: dict[Problem, Decoded] = {}
    for each in decoded:
        known = best.get(each.problem)
        if known is None or each.crossing.mean < known.crossing.mean:
            best[each.problem] = each
    return list(best.values())


def _any(name: str, length: int, decoded: Sequence[Decoded]) -> bool:
    return any(each.decoder == name and each.problem.length == length for each in decoded)


def _series(name: str, place: int, length: int, decoded: Sequence[Decoded]) -> Series:
    here = [
        each
        for each in decoded
        if each.decoder == name and each.problem.length == length and each.crossing.status == "ok"
    ]
    sizes = [factor(each.log_samples(0.95)) for each in here]
    return Series(
        label=name,
        kind=Kind.MEASURED,
        x=[each.problem.dim for each in here],
        y=[size.mean for size in sizes],
        low=[size.low for size in sizes],
        high=[size.high for size in sizes],
        colour=place,
    )


CLAIM = Claim(
    name="lower-bound",
    title="No reader of the first gradient escapes the product",
    statement="Any estimator that sees only the gradient at initialisation needs a batch that "
    "depends on the same product of sizes: the product is a property of the problem, not of one "
    "algorithm.",
    support="No decoder of the first gradient has a critical batch below our lower bound; the best "
    f"of five is within a factor {_CLOSE:g} of it everywhere; and its powers of d and L are those "
    f"of the bound to within {_SAME:g}.",
    contradict="A decoder below the bound, a best decoder more than that factor away, or powers "
    "that differ by more.",
    background="The first gradient is a matrix of d × d numbers, so it can carry only so much "
    "about which token goes with which label, whoever reads it. Our bound counts that in bits. The "
    "decoders range from using the gradient as it is to message passing.",
    sweeps=("decoders",),
    analyse=analyse,
)
