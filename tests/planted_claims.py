"""Made-up runs of the claims' sweeps, in which a claim is true by construction, or false."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from recallscope import Problem, Record, Status, bound, solve
from recallscope.paper.evidence import Evidence
from recallscope.paper.presets import sweep_of
from recallscope.record import Provenance
from recallscope.theory.sizes import GROWS
from recallscope.validation.decoders import DECODERS
from recallscope.validation.measures import MEASURES, NOISES

SIZE = "smoke"
_MADE_UP = Provenance(
    engine="made up", dtype="float32", device="cpu", versions={}, revision=None, elapsed_seconds=0.0
)
_STEEP = 3.0
_SPREAD = 0.01  # of accuracies between seeds


def evidence(names, truths, lost=lambda problem, seed: False) -> Evidence:
    """Runs of sweeps as the truths have them: each a function that the sweep's kind calls for.

    Runs that are lost have failed instead.
    """
    records, readings = [], []
    for name in names:
        spec, truth = sweep_of(name, SIZE), truths[name]
        if name in MEASURES:
            readings += [
                Record(
                    problem=cell.problem,
                    seed=cell.seed,
                    status=Status.OK,
                    provenance=_MADE_UP,
                    measure=name,
                    metrics=truth(cell.problem, np.random.default_rng(cell.seed)),
                )
                for cell in spec.cells()
            ]
        elif spec.critical is None:
            records += [
                record_of(cell.problem, cell.seed, **truth(cell.problem, _noise(cell.seed)))
                for cell in spec.cells()
            ]
        else:
            for search in spec.searches():
                records += _runs(search, truth(search.problem))
    kept = [_failed(each) if lost(each.problem, each.seed) else each for each in records]
    return Evidence(SIZE, kept + readings)


def _failed(record: Record) -> Record:
    return Record(
        problem=record.problem,
        seed=record.seed,
        status=Status.FAILED,
        provenance=_MADE_UP,
        reason="MemoryError: planted",
    )


def record_of(problem: Problem, seed: int, **numbers: float) -> Record:
    return Record(
        problem=problem,
        seed=seed,
        status=Status.OK,
        provenance=_MADE_UP,
        test_samples=4096,
        **numbers,
    )


def _runs(search, critical: float) -> list[Record]:
    """As many runs as the search may ask for, about the size at which they cross the target."""
    random = np.random.default_rng(search.first_seed)
    sign = 1 if GROWS[search.quantity] else -1
    found = []
    for seed in range(search.first_seed, search.first_seed + search.budget):
        x = random.uniform(-0.7, 0.7)
        size = min(max(round(critical * math.exp(x)), search.low), search.high)
        rate = _sigmoid(sign * _STEEP * math.log(size / critical) + random.normal(0, 0.05))
        rate = round(4096 * rate) / 4096
        problem = search.problem.replace(**{search.quantity: size})
        found.append(
            record_of(
                problem, seed, recall_accuracy=rate, lock_accuracy=rate, one_step_accuracy=rate
            )
        )
    return found


def _noise(seed: int) -> float:
    return float(np.random.default_rng(seed).normal(0, _SPREAD))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@cache
def _closed_forms(problem: Problem, quantity: str) -> float:
    value = solve(problem, quantity).value
    assert value is not None
    return float(value)


def _factorial(problem: Problem, noise: float, samples: float = 1.0) -> dict[str, float]:
    x = samples * math.log(problem.samples) + 2 * math.log(problem.dim) - math.log(problem.vocab)
    x -= 0.5 * math.log(problem.length)
    x += 0 if problem.width is None else 0.5 * math.log(problem.width)
    return {"recall_accuracy": _sigmoid((x - 8) / 3 + noise)}


def _locking(problem: Problem, noise: float) -> dict[str, float]:
    locked = _sigmoid(3 * math.log(problem.samples / 500) + noise)
    return {
        "lock_accuracy": locked,
        "recall_accuracy": 0.5 * locked,
        "trigger_cosine": min(locked + noise, 1.0),
    }


def _trained(late: float) -> Callable[..., dict[str, float]]:
    def truth(problem, random):
        early = float(random.uniform(0.02, 0.06))
        return {
            "early_lock": early,
            "late_lock": late * early if late <= 1 else float(random.uniform(0.9, 0.95)),
            "early_cosine": 0.1,
            "late_cosine": 0.1 if late <= 1 else 0.9,
        }

    return truth


def _noises(leading: Callable[[Problem], str]) -> Callable[..., dict[str, float]]:
    def truth(problem, random):
        values = dict.fromkeys(NOISES, 0.1) | {leading(problem): 1.0}
        return {name: value * float(random.uniform(0.9, 1.1)) for name, value in values.items()}

    return truth


def _leader(problem: Problem) -> str:
    if problem.activation == "tanh":
        return "gradient_noise"
    return "mlp_noise" if problem.width == 32 else "mean_bias"


def _with_mlp(gain: float) -> Callable[..., dict[str, float]]:
    def truth(problem, noise):
        return {"recall_accuracy": 0.5 + noise + (gain if problem.samples < 1000 else 0.2)}

    return truth


def _decoders(over_bound: float) -> Callable[..., dict[str, float]]:
    def truth(problem, random):
        limit = over_bound * bound(problem, 0.5).samples
        x = _STEEP * math.log(problem.samples / limit)
        return {
            name: _sigmoid(x - 0.5 * place + random.normal(0, 0.05))
            for place, name in enumerate(reversed(DECODERS))
        }

    return truth


def _one_decoder_below_the_bound(problem, random):
    """And another that is all noise: its wide interval must not hide the first."""
    values = _decoders(3.0)(problem, random)
    values["hebbian argmax"] = _decoders(0.7)(problem, random)["message passing"]
    values["hebbian assignment"] = float(random.uniform(0.0, 1.0))
    return values


SUPPORTING = {
    "random-long": lambda p: _closed_forms(p, "samples"),
    "random-short": lambda p: _closed_forms(p, "samples"),
    "corners": lambda p: _closed_forms(p, "samples"),
    "orthogonal": lambda p: 0.7 * p.vocab,
    "capacity": lambda p: 0.4 * p.dim**1.7,
    "capacity-one-step": lambda p: 0.3 * p.dim**1.2 * (p.samples / p.length) ** 0.4,
    "capacity-population": lambda p: 0.4 * p.dim**1.7,
    "factorial": _factorial,
    "factorial-mlp": _factorial,
    "width": lambda p: 6000 / p.dim,
    "without-mlp": lambda p, noise: {"recall_accuracy": 0.5 + noise},
    "with-mlp": _with_mlp(-0.2),
    "noises": _noises(_leader),
    "locking": _locking,
    "training-on": _trained(late=1.0),
    "decoders": _decoders(3.0),
}
"""Runs in which claims are true; the news summary's is told apart below."""

NEWS_IS_RIGHT = {
    "random-long": lambda p: 0.2 * p.dim * p.length,
    "capacity": lambda p: 0.5 * p.dim * p.length,
}

CONTRADICTING = {
    "products": {"random-long": lambda p: 6.0 * p.vocab},
    "directions": {"factorial": lambda p, noise: _factorial(p, noise, samples=-1.0)},
    "two-by-two": {"corners": lambda p: 3 * _closed_forms(p, "samples")},
    "orthogonal": {"orthogonal": lambda p: 0.05 * p.vocab * p.length},
    "trade-off": {"capacity-population": lambda p: 0.05 * p.dim**2.5},
    "short-or-long": {"random-long": lambda p: 0.2 * _closed_forms(p, "samples")},
    "mlp-regimes": {"with-mlp": _with_mlp(+0.2)},
    "first-steps": {"training-on": _trained(late=2.0)},
    "lower-bound": {"decoders": _one_decoder_below_the_bound},
    "news": {
        "capacity": lambda p: 40.0 * p.dim / p.length,
        "random-long": lambda p: _closed_forms(p, "samples"),
    },
}
"""For each claim, what is changed of the instances above to make it false."""
