"""Made-up runs of the statements' sweeps, in which one is true by construction, or false."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.optimize import brentq

from recallscope import Problem, Record, Status, bound, solve
from recallscope.experiment.record import Provenance
from recallscope.problem.axes import SIZES
from recallscope.theory.accuracy import accuracies
from recallscope.theory.problem_arrays import arrays_of
from reproduction.critical_sizes import CriticalSize, critical_sizes, searches_told
from reproduction.decoders import DECODERS
from reproduction.evidence import Evidence
from reproduction.measures import NOISES
from reproduction.noise_removal import ACCURACIES, changes
from reproduction.runs import table_of
from reproduction.statements import STATEMENTS

SIZE = "small"
SWEEPS = {sweep.name: sweep for each in STATEMENTS.values() for sweep in each.sweeps}
_MADE_UP = Provenance(
    engine="made up", dtype="float32", device="cpu", versions={}, revision=None, elapsed_seconds=0.0
)
_STEEP = 3.0
_SPREAD = 0.01  # of accuracies between seeds


def evidence(sweeps, truths, lost=lambda problem, seed: False) -> Evidence:
    """Runs of sweeps that follow the truths; each truth is a function for its kind of sweep.

    Runs that are lost have failed instead.
    """
    tables, sizes = [], {}
    for sweep in sweeps:
        name = sweep.name
        records, sizes[name] = _planted(name, truths[name])
        if sweep.measure is None and any(lost(each.problem, each.seed) for each in records):
            records = [_failed(each) if lost(each.problem, each.seed) else each for each in records]
            sizes[name] = _sizes(name, records)
        tables.append(table_of(name, records))
    return Evidence(pa.concat_tables(tables, promote_options="permissive"), sizes)


@cache
def _planted(name: str, truth: Callable[..., Any]) -> tuple[list[Record], list[CriticalSize]]:
    sweep = SWEEPS[name].of_size(SIZE)
    if SWEEPS[name].measure is not None:
        records = [
            record_of(
                cell.problem,
                cell.seed,
                metrics=truth(cell.problem, np.random.default_rng(cell.seed)),
            )
            for cell in sweep.cells()
        ]
    elif sweep.critical is None:
        records = [
            record_of(cell.problem, cell.seed, **truth(cell.problem, _noise(cell.seed)))
            for cell in sweep.cells()
        ]
    else:
        records = [
            record for each in sweep.searches() for record in _runs(each, truth(each.problem))
        ]
    return records, _sizes(name, records)


def _sizes(name: str, records: list[Record]) -> list[CriticalSize]:
    sweep = SWEEPS[name].of_size(SIZE)
    return [] if sweep.critical is None else critical_sizes(searches_told(sweep, records))


def _failed(record: Record) -> Record:
    return Record(
        problem=record.problem,
        seed=record.seed,
        status=Status.FAILED,
        provenance=_MADE_UP,
        reason="MemoryError: planted",
    )


def record_of(problem: Problem, seed: int, **numbers: Any) -> Record:
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
    sign = SIZES[search.quantity].monotone
    found = []
    for seed in range(search.first_seed, search.first_seed + search.budget):
        x = random.uniform(-0.7, 0.7)
        size = min(max(round(critical * math.exp(x)), search.low), search.high)
        rate = _sigmoid(sign * _STEEP * math.log(size / critical) + random.normal(0, 0.05))
        rate = round(4096 * rate) / 4096
        problem = search.problem.replace(**{search.quantity: size})
        found.append(
            record_of(
                problem,
                seed,
                recall_accuracy=rate,
                attention_accuracy=rate,
                first_gradient_accuracy=rate,
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


def _attention(problem: Problem, noise: float) -> dict[str, float]:
    found = _sigmoid(3 * math.log(problem.samples / 500) + noise)
    return {
        "attention_accuracy": found,
        "recall_accuracy": 0.5 * found,
        "trigger_cosine": min(found + noise, 1.0),
    }


def _trained(gain: Callable[[Problem], float]) -> Callable[..., dict[str, Any]]:
    """Seeds with a high cosine find the trigger, and `gain` is added to what they had."""

    def truth(problem, noise):
        cosine = 0.3 + 10 * noise
        early = 0.7 if cosine > 0.3 else 0.1
        return {
            "attention_accuracy": min(early + gain(problem), 1.0),
            "metrics": {"curve_attention": (early, 0.0), "curve_cosine": (cosine, 0.0)},
        }

    return truth


def _oscillating(over: float) -> Callable[..., dict[str, Any]]:
    """Of few dimensions, large steps end at so many times the loss of small ones."""

    def truth(problem, noise):
        swings = problem.dim < 30 and problem.learning_rate > 100
        loss = (3.0 if problem.dim < 30 else 0.01) * (over if swings else 1.0)
        curve = [loss * (2 - 0.05 * at + (0.3 * (at % 2) if swings else 0)) for at in range(20)]
        return {
            "recall_accuracy": (0.2 if problem.dim < 30 else 0.99) + 0.1 * noise,
            "metrics": {
                "final_loss": loss * (1 + noise),
                "curve_step": tuple(range(1, 21)),
                "curve_loss": tuple(curve),
            },
        }

    return truth


def _all_data(problem: Problem) -> float:
    """V with V ln V = 0.58 d²."""
    return float(brentq(lambda v: v * math.log(v) - 0.58 * problem.dim**2, 2.0, 1e9))


def _finite(problem: Problem) -> float:
    """The fewer samples and the more dimensions, the fewer of them."""
    return _all_data(problem) * (1 - 0.006 * problem.dim * (1024 / problem.samples) ** 0.5)


@cache
def _bound(problem: Problem, target: float) -> float:
    return bound(problem, target).samples


def _over_the_bound(by: Callable[[Problem], float]) -> Callable[[Problem], float]:
    return lambda problem: by(problem) * _bound(problem, 0.5)


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
        # With V added to both batches, as the bound's formula has it; for half and for nine in ten.
        whatever = problem.replace(samples=1)
        half, most = (
            math.log(over_bound * (_bound(whatever, each) + problem.vocab) - problem.vocab)
            for each in (0.5, 0.9)
        )
        x = math.log(9) * (math.log(problem.samples) - half) / (most - half)
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


@cache
def _by_closed_forms(problem: Problem) -> dict[str, dict[str, float]]:
    every = changes(problem)
    found = accuracies(arrays_of(list(every.values())))
    return {name: dict(zip(every, getattr(found, name), strict=True)) for name in ACCURACIES}


def _limits(problem, random):
    """What closed forms say of each change, and a little noise."""
    return {
        f"{name}_{change}": float(np.clip(value + random.normal(0, 1e-4), 0, 1))
        for name, values in _by_closed_forms(problem).items()
        for change, value in values.items()
    }


def _always_sampling(problem, random):
    """Only data helps, and neither a centred activation nor the absence of distractors."""
    return {
        f"{name}_{change}": 0.5 + 0.3 * (change == "unlimited_data")
        for name in ACCURACIES
        for change in changes(problem)
    }


def _plane(power: float) -> Callable[..., dict[str, float]]:
    def truth(problem, noise):
        x = 4 * math.log(problem.width * (problem.dim / 60) ** -power / 60)
        return {"recall_accuracy": _sigmoid(x + math.log(2 / 3) + noise)}

    return truth


def _equal_size(recall: float) -> Callable[..., dict[str, float]]:
    def truth(problem, noise):
        if problem.embedding == "orthogonal":
            return {"recall_accuracy": 0.99 + 0.01 * noise}
        few = problem.vocab in (127, 464, 1703)  # those of which nearly all are recalled
        return {"recall_accuracy": (0.9 if few else recall) + 0.1 * noise}

    return truth


SUPPORTING = {
    "random-long": lambda p: _closed_forms(p, "samples"),
    "random-short": lambda p: _closed_forms(p, "samples"),
    "corners": lambda p: _closed_forms(p, "samples"),
    "orthogonal": lambda p: 0.7 * p.vocab,
    "random-half": lambda p: 2000 * p.length**1.5 / p.dim**1.4,
    "vocab-and-length": lambda p: p.length**1.5 * p.vocab**0.4 / 10,
    "random-wide": lambda p: 0.95 * p.vocab,
    "three-steps": _over_the_bound(lambda p: 1.0),
    "capacity": _finite,
    "capacity-first-gradient": lambda p: 0.3 * p.dim**1.2 * (p.samples / p.length) ** 0.4,
    "capacity-population": _all_data,
    "factorial": _factorial,
    "factorial-mlp": _factorial,
    "width": lambda p: 6000 / p.dim,
    "without-mlp": lambda p, noise: {"recall_accuracy": 0.5 + noise},
    "with-mlp": _with_mlp(-0.2),
    "noises": _noises(_leader),
    "attention": _attention,
    "saturating": _trained(lambda p: 0.0 if p.saturation > 30 else 0.3),
    "oscillating": _oscillating(over=3.0),
    "decoders": _decoders(3.0),
    "mlp-limits": _limits,
    "mlp-plane": _plane(-1.0),
    "equal-size": _equal_size(0.9),
}
"""Runs in which statements are true; those of the news summary are below."""

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
    "finite-data": {"capacity": _all_data},
    "oscillations": {"oscillating": _oscillating(over=1.0)},
    "tight": {"three-steps": _over_the_bound(lambda p: 0.1)},
    "mlp-regimes": {"with-mlp": _with_mlp(+0.2)},
    "orthogonal-capacity": {"equal-size": _equal_size(0.1)},
    "first-steps": {"saturating": _trained(lambda p: 0.3)},
    "lower-bound": {"decoders": _one_decoder_below_the_bound},
    "news": {
        "capacity": lambda p: 40.0 * p.dim / p.length,
        "random-long": lambda p: _closed_forms(p, "samples"),
    },
}
"""For each statement, what is changed of the instances above to make it false."""

ALSO_CONTRADICTING = {
    "products": [
        {"random-long": lambda p: 0.06 * p.length**2 + 4e5 / p.dim},  # a sum
        {"random-half": lambda p: max(0.2 * p.length**2, 3e4 / p.dim)},  # a maximum
        {"vocab-and-length": lambda p: 0.2 * p.length**2 + 5 * p.vocab},
    ],
    "two-by-two": [{"corners": lambda p: 1000.0 * p.dim / 48}],
    "orthogonal": [
        {"random-wide": lambda p: 2.0 * p.vocab},
        {"random-wide": lambda p: 0.7 * p.vocab},
    ],
    "mlp-regimes": [{"mlp-limits": _always_sampling}, {"mlp-plane": _plane(-2.5)}],
    "trade-off": [
        {"capacity-population": lambda p: 2 * _all_data(p)},
        {"capacity-population": lambda p: 0.2 * p.dim**1.6},
    ],
    "first-steps": [
        {"saturating": lambda p, noise: _without_a_cosine(p, noise)},
    ],
    "oscillations": [{"oscillating": lambda p, noise: _oscillating(3.0)(p.replace(dim=20), noise)}],
    "tight": [{"three-steps": _over_the_bound(lambda p: (p.length / 24) ** 0.7)}],
    "lower-bound": [{"decoders": _decoders(20.0)}],
}
"""Further runs in which a statement is false, one for each thing that it says."""


def _without_a_cosine(problem: Problem, noise: float) -> dict[str, Any]:
    """Seeds with a low cosine are those that find the trigger."""
    found = _trained(lambda p: 0.0 if p.saturation > 30 else 0.3)(problem, noise)
    attention, cosine = (found["metrics"][f"curve_{name}"][0] for name in ("attention", "cosine"))
    return found | {
        "metrics": {"curve_attention": (attention, 0.0), "curve_cosine": (-cosine, 0.0)}
    }
