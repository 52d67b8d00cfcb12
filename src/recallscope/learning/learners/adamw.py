"""Adam with decoupled weight decay, as torch has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.learning.training.learner import trained_by
from recallscope.learning.training.options import BATCHES, DECAY
from recallscope.learning.training.rates import adam_rate

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer

    from recallscope.problem import Problem


def optimiser(weights: list[nn.Parameter], rate: float, problem: Problem) -> Optimizer:
    """The optimiser of a problem over some weights."""
    from torch.optim import AdamW

    return AdamW(weights, lr=rate, weight_decay=problem["weight_decay"])


PART = trained_by(optimiser, adam_rate, {**BATCHES, "weight_decay": DECAY}, by_weight=True)
