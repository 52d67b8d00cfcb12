"""Adam."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recallscope.training.learner import BatchedLearner, fused
from recallscope.training.rates import adam_rate

if TYPE_CHECKING:
    from torch.optim import Optimizer

    from recallscope.problem.problem import Problem
    from recallscope.training.learner import Weights


@dataclass(frozen=True)
class AdamLearner(BatchedLearner):
    """Adam, as torch has it."""

    by_weight = True

    def optimiser(self, weights: Weights, rate: float) -> Optimizer:
        """Adam of torch."""
        from torch.optim import Adam

        decay = self.weight_decay
        return Adam(weights, lr=rate, weight_decay=decay, fused=fused(weights))

    def usual_rate(self, problem: Problem) -> float:
        """The learning rate for problems that give none."""
        return adam_rate(problem)


PART = AdamLearner()
