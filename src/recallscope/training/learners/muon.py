"""Muon: five Newton-Schulz iterations towards the spectral step."""

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
class MuonLearner(BatchedLearner):
    """Muon, as torch has it."""

    momentum: float = momentum(0.95)

    def optimiser(self, weights: Weights, rate: float) -> Optimizer | Together:
        """Muon of matrices, and AdamW of all else."""
        from torch.optim import Muon

        return of_matrices(
            Muon, weights, lr=rate, momentum=self.momentum, weight_decay=self.weight_decay
        )

    def usual_rate(self, problem: Problem) -> float:
        """The learning rate for problems that give none."""
        return spectral_rate(problem)


PART = MuonLearner()
