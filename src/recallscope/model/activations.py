"""The activations of the frozen MLP and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from recallscope.problem.problem import Problem


class Activation(NamedTuple):
    """A function of one number and its derivative, both elementwise."""

    value: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]


def _gelu_slope(x: Tensor) -> Tensor:
    density = torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    slope: Tensor = torch.special.ndtr(x) + x * density
    return slope


_ACTIVATIONS = {
    # The slope of relu at 0 is 0, as autograd has it.
    "relu": Activation(torch.relu, lambda x: (x > 0).to(x.dtype)),
    "gelu": Activation(functional.gelu, _gelu_slope),
    "tanh": Activation(torch.tanh, lambda x: 1 - torch.tanh(x) ** 2),
    "quadratic": Activation(torch.square, lambda x: 2 * x),
    "identity": Activation(lambda x: x, torch.ones_like),
    # Its mean is zero for tokens of length 1: it is relu without its mean bias.
    "centred-relu": Activation(
        lambda x: torch.relu(x) - 1 / math.sqrt(2 * math.pi), lambda x: (x > 0).to(x.dtype)
    ),
}


def activation_of(problem: Problem) -> Activation:
    """The activation of a problem that has an MLP."""
    assert problem.activation is not None
    return _ACTIVATIONS[problem.activation]
