"""Stochastic gradient descent: each step on a part of the samples, or on new ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recallscope.training.learner import BatchedLearner, batch, momentum
from recallscope.training.rates import descent_rate

if TYPE_CHECKING:
    from torch.optim import Optimizer

    from recallscope.problem.problem import Problem
    from recallscope.training.learner import Weights


@dataclass(frozen=True)
class StochasticGradientDescent(BatchedLearner):
    """Stochastic gradient descent."""

    by_weight = True

    batch: int = batch(256)
    momentum: float = momentum(0.0)

    def optimiser(self, weights: Weights, rate: float) -> Optimizer:
        """SGD of torch."""
        from torch.optim import SGD

        return SGD(weights, lr=rate, momentum=self.momentum, weight_decay=self.weight_decay)

    def usual_rate(self, problem: Problem) -> float:
        """The learning rate for problems that give none."""
        return descent_rate(problem)


PART = StochasticGradientDescent()
