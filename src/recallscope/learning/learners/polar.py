"""The exact spectral step, by a singular value decomposition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.learning.training.learner import trained_by
from recallscope.learning.training.options import BATCHES, MOMENTUM, check_matrices
from recallscope.learning.training.rates import spectral_rate

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer

    from recallscope.problem import Problem


def optimiser(weights: list[nn.Parameter], rate: float, problem: Problem) -> Optimizer:
    """The optimiser of a problem over some weights."""
    from recallscope.learning.training.polar import Polar

    check_matrices(weights, problem)
    return Polar(
        weights, lr=rate, momentum=problem["momentum"], weight_decay=problem["weight_decay"]
    )


PART = trained_by(optimiser, spectral_rate, {**BATCHES, "momentum": MOMENTUM})
