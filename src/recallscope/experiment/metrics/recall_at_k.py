"""How often the right label is among the k highest logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recallscope.experiment.metric import Metric
from recallscope.model.learner import mean_of_tests
from recallscope.problem.part import problem_field

if TYPE_CHECKING:
    from torch import Tensor

    from recallscope.model.learner import LearnedModel
    from recallscope.model.setup import Setup


@dataclass(frozen=True)
class RecallAtK(Metric):
    """The fraction of fresh samples whose label is among the best k."""

    k: int = problem_field(5, low=1, help="How many labels.")

    def measure(self, setup: Setup, logits: LearnedModel) -> float:
        """The fraction of tests."""
        best = min(self.k, setup.problem.vocab)

        def right(tokens: Tensor, position: Tensor, label: Tensor) -> Tensor:
            top = logits(tokens, position).topk(best, dim=1).indices
            return (top == label[:, None]).any(dim=1)

        return mean_of_tests(setup, right)


PART = RecallAtK()
