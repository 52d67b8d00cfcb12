"""Learners that differ only in their optimiser: those of torch, and our exact spectral step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recallscope.learning.training.learner import trained_by
from recallscope.learning.training.options import COMMON
from recallscope.learning.training.rates import adam_rate, descent_rate, spectral_rate
from recallscope.parts.field import Field
from recallscope.problem import Problem

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer

    from recallscope.learning.training.groups import Group, Together

    Weights = list[nn.Parameter] | list[Group]


def adam(weights: Weights, rate: float, problem: Problem) -> Optimizer:
    """Adam, as torch has it."""
    from torch.optim import Adam

    return Adam(weights, lr=rate, weight_decay=problem["weight_decay"], fused=_fused(weights))


def adamw(weights: Weights, rate: float, problem: Problem) -> Optimizer:
    """Adam with decoupled weight decay, as torch has it."""
    from torch.optim import AdamW

    return AdamW(weights, lr=rate, weight_decay=problem["weight_decay"], fused=_fused(weights))


def _fused(weights: Weights) -> bool:
    """Whether all weights are stepped at once: faster, with other last bits."""
    return isinstance(weights[0], dict)  # groups, of a module; records of the paper's model stay


def gd(weights: Weights, rate: float, problem: Problem) -> Optimizer:
    """Gradient descent on all samples at once."""
    from torch.optim import SGD

    return SGD(weights, lr=rate, **_momentum_and_decay(problem))


def sgd(weights: Weights, rate: float, problem: Problem) -> Optimizer:
    """Stochastic gradient descent: each step on a part of the samples, or on new ones."""
    return gd(weights, rate, problem)


def muon(weights: Weights, rate: float, problem: Problem) -> Optimizer | Together:
    """Muon, as torch has it: five Newton-Schulz iterations towards the spectral step."""
    from torch.optim import Muon

    return _of_matrices(Muon, weights, rate, problem)


def polar(weights: Weights, rate: float, problem: Problem) -> Optimizer | Together:
    """The exact spectral step, by a singular value decomposition."""
    from recallscope.learning.training.polar import Polar

    return _of_matrices(Polar, weights, rate, problem)


def _of_matrices(
    kind: type[Optimizer], weights: Weights, rate: float, problem: Problem
) -> Optimizer | Together:
    """An optimiser of matrices, with AdamW for whatever else a module has."""
    from recallscope.learning.training.groups import REST_OF_RATE, Together, matrices_and_rest

    options: dict[str, Any] = {"lr": rate, **_momentum_and_decay(problem)}
    if not isinstance(weights[0], dict):
        return kind(weights, **options)
    matrices, rest = matrices_and_rest(weights)
    found = [kind(matrices, **options)] if matrices else []
    if rest:
        rest = [group | {"rate_share": REST_OF_RATE} for group in rest]
        found.append(adamw(rest, rate, problem))
    return Together(*found)


def _momentum_and_decay(problem: Problem) -> dict[str, Any]:
    return {name: problem[name] for name in ("momentum", "weight_decay")}


_BATCH = Field(default=0, low=0, help="Samples for each step; 0, or more than there are, for all.")
_MOMENTUM = Field(
    default=0.0,
    low=0.0,
    high=0.9999,
    help="The share of the last step's direction that the next keeps; 0 for none.",
)
_BATCHES = {
    "batch": _BATCH,
    "fresh": Field(default=False, help="Whether every step draws samples never seen before."),
}
PARTS = {
    "adam": trained_by(adam, adam_rate, _BATCHES, by_weight=True),
    "adamw": trained_by(
        adamw,
        adam_rate,
        _BATCHES | {"weight_decay": replace(COMMON["weight_decay"], default=0.01)},
        by_weight=True,
    ),
    "gd": trained_by(gd, descent_rate, {"momentum": _MOMENTUM}, by_weight=True),
    "sgd": trained_by(
        sgd,
        descent_rate,
        _BATCHES | {"batch": replace(_BATCH, default=256), "momentum": _MOMENTUM},
        by_weight=True,
    ),
    "muon": trained_by(
        muon, spectral_rate, _BATCHES | {"momentum": replace(_MOMENTUM, default=0.95)}
    ),
    "polar": trained_by(polar, spectral_rate, _BATCHES | {"momentum": _MOMENTUM}),
}
