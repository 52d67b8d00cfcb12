"""Gradient descent on all samples at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.learning.training.learner import trained_by
from recallscope.learning.training.options import MOMENTUM
from recallscope.learning.training.rates import descent_rate

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer

    from recallscope.problem import Problem


def optimiser(weights: list[nn.Parameter], rate: float, problem: Problem) -> Optimizer:
    """The optimiser of a problem over some weights."""
    from torch.optim import SGD

    return SGD(weights, lr=rate, momentum=problem["momentum"], weight_decay=problem["weight_decay"])


PART = trained_by(optimiser, descent_rate, {"momentum": MOMENTUM}, by_weight=True)
