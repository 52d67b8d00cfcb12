"""The exact spectral step, by a singular value decomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recallscope.training.learner import BatchedLearner, momentum, of_matrices
from recallscope.training.rates import spectral_rate

if TYPE_CHECKING:
    from torch.optim import Optimizer

    from recallscope.problem.problem import Problem
    from recallscope.training.groups import Together
    from recallscope.training.learner import Weights


@dataclass(frozen=True)
class PolarLearner(BatchedLearner):
    """Steps whose singular values are all equal."""

    momentum: float = momentum(0.0)

    def optimiser(self, weights: Weights, rate: float) -> Optimizer | Together:
        """Polar of matrices, and AdamW of all else."""
        from recallscope.training.polar import Polar

        return of_matrices(
            Polar, weights, lr=rate, momentum=self.momentum, weight_decay=self.weight_decay
        )

    def usual_rate(self, problem: Problem) -> float:
        """The learning rate for problems that give none."""
        return spectral_rate(problem)


PART = PolarLearner()
