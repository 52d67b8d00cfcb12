"""Critical searches of planted truths with known answers.

A truth is a curve of mean accuracy against log size. Its threshold, slope, shape and ceiling are
random. Rates differ between seeds by a random spread, from none to all or nothing. One in five
thresholds lies outside of the range searched. There is no prior, or it is right, or wrong by up to
a factor of ten.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from recallscope import Problem, Record, Status
from recallscope.experiment.record import Provenance
from recallscope.measure.critical_search import CriticalSearch

TESTS = 4096
LOW, HIGH = 64, 131072
SHAPES = ("logistic", "probit", "gumbel", "gompertz")
MADE_UP = Provenance(
    engine=None, dtype="float64", device="none", versions={}, revision=None, elapsed_seconds=0.0
)


@dataclass(frozen=True)
class Truth:
    """A curve of accuracy, and how seeds vary about it."""

    shape: str
    target: float
    crossing: float  # log size
    slope: float  # logits per unit of log size, at the crossing
    ceiling: float
    spread: float  # of the rates of seeds: a fraction of the largest variance that a mean allows

    def mean(self, x: float) -> float:
        """The accuracy at a log size; the target at the crossing, where its logit has the slope."""
        value, rate = _SHAPES[self.shape]
        start = value(self.target / self.ceiling)
        # d logit(mean) / d z at the crossing: with it the slope is the same for every shape
        step = 1e-5
        here = logit(self.ceiling * rate(start + step)) - logit(self.ceiling * rate(start - step))
        return self.ceiling * float(
            rate(start + self.slope * (x - self.crossing) * 2 * step / here)
        )

    def outcome(self, x: float, seed: int, case: int) -> float:
        """The rate of one run: that of its seed, seen through a finite number of tests."""
        rng = np.random.default_rng([case, seed])
        mean = min(max(self.mean(x), 1e-9), 1 - 1e-9)
        if self.spread > 0:
            concentration = 1 / self.spread - 1
            mean = rng.beta(mean * concentration, (1 - mean) * concentration)
        return float(rng.binomial(TESTS, mean) / TESTS)


_SHAPES: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "logistic": (logit, expit),
    "probit": (norm.ppf, norm.cdf),
    "gumbel": (lambda p: -math.log(-math.log(p)), lambda z: math.exp(-math.exp(-z))),
    "gompertz": (
        lambda p: math.log(-math.log1p(-p)),
        lambda z: -math.expm1(-math.exp(min(z, 700))),
    ),
}


def draw_truth(rng: np.random.Generator) -> Truth:
    """A truth within the range searched, or with one chance in five outside of it."""
    start, end = math.log(LOW), math.log(HIGH)
    outside = rng.random() < 0.2
    crossing = end + rng.uniform(0.5, 3) if outside else rng.uniform(start + 0.3, end - 0.3)
    target = rng.choice([0.3, 0.5, 0.5, 0.7, 0.9])
    return Truth(
        shape=str(rng.choice(SHAPES)),
        target=float(target),
        crossing=float(crossing),
        slope=float(np.exp(rng.uniform(math.log(0.5), math.log(6)))),
        ceiling=float(1 if rng.random() < 0.6 else rng.uniform(target + (1 - target) / 4, 1)),
        spread=float(rng.choice([0.0, 10 ** rng.uniform(-4, -0.3)], p=[0.1, 0.9])),
    )


def planted_record(truth: Truth, problem: Problem, seed: int, case: int) -> Record:
    return Record(
        problem=problem,
        seed=seed,
        status=Status.OK,
        provenance=MADE_UP,
        test_samples=TESTS,
        recall_accuracy=truth.outcome(math.log(problem.samples), seed, case),
    )


def search(case: int, budget: int = 64, precision: float = 0.1) -> dict[str, object]:
    """One planted search, as a row."""
    rng = np.random.default_rng([7, case])
    truth = draw_truth(rng)
    wrong = truth.crossing + rng.uniform(-math.log(10), math.log(10))
    prior = [None, math.exp(truth.crossing), math.exp(wrong)][rng.integers(3)]
    found = CriticalSearch(
        Problem(vocab=512, samples=1, dim=64, length=16),
        target=truth.target,
        low=LOW,
        high=HIGH,
        budget=budget,
        precision=precision,
        prior=prior,
    )
    while not found.done:
        found.tell([planted_record(truth, p, seed, case) for p, seed in found.ask()])
    result = found.result()
    return {
        "case": case,
        **truth.__dict__,
        "prior": None if prior is None else round(prior),
        "truth": round(math.exp(truth.crossing)),
        "inside": truth.crossing <= math.log(HIGH),
        "status": str(result.status),
        "value": result.value,
        "low": result.low,
        "high": result.high,
        "evaluations": result.evaluations,
    }


def covered(row: dict[str, object]) -> bool:
    """Whether the interval of a search covers the planted size; an end out of range covers all."""
    return (row["low"] or 0) <= row["truth"] <= (row["high"] or math.inf)


def interpolated(records: list[Record], accuracy: str, target: float) -> float:
    """The mean of the places where the line through the outcomes rises through the target."""
    x = [math.log(record.problem.samples) for record in records]
    rate = [getattr(record, accuracy) for record in records]
    places = [
        x[i] + (x[i + 1] - x[i]) * (target - rate[i]) / (rate[i + 1] - rate[i])
        for i in range(len(x) - 1)
        if rate[i] < target <= rate[i + 1]
    ]
    return float(np.mean(places)) if places else x[-1]
