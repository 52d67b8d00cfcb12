"""Adam with decoupled weight decay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recallscope.training.learner import BatchedLearner, fused, weight_decay
from recallscope.training.rates import adam_rate

if TYPE_CHECKING:
    from torch.optim import Optimizer

    from recallscope.problem.problem import Problem
    from recallscope.training.learner import Weights


@dataclass(frozen=True)
class AdamWLearner(BatchedLearner):
    """AdamW, as torch has it."""

    by_weight = True

    weight_decay: float = weight_decay(0.01)

    def optimiser(self, weights: Weights, rate: float) -> Optimizer:
        """AdamW of torch."""
        from torch.optim import AdamW

        decay = self.weight_decay
        return AdamW(weights, lr=rate, weight_decay=decay, fused=fused(weights))

    def usual_rate(self, problem: Problem) -> float:
        """The learning rate for problems that give none."""
        return adam_rate(problem)


PART = AdamWLearner()
