"""Bits of the answers that a model has stored, per trained parameter.

It is facts · max(0, bits of an answer − loss) / parameters. The loss is the mean cross entropy in
bits over a test of every fact. For biographies this is the second term of what Allen-Zhu and Li
count, N log2(S0/e^p2). Names are given, not generated, so their bits are not counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recallscope.experiment.metric import Metric
from recallscope.model.learner import mean_of_tests
from recallscope.problem.facts import facts_of

if TYPE_CHECKING:
    from torch import Tensor

    from recallscope.model.learner import LearnedModel
    from recallscope.model.setup import Setup


@dataclass(frozen=True)
class BitsPerParameter(Metric):
    """Bits of answers per trained parameter."""

    def measure(self, setup: Setup, logits: LearnedModel) -> float:
        """Bits of all facts, over the weights that were trained."""
        from torch.nn import functional

        from recallscope.model.parameters import parameters_of

        def losses(tokens: Tensor, position: Tensor, label: Tensor) -> Tensor:
            scores = logits(tokens, position).double()
            return functional.cross_entropy(scores, label, reduction="none") / math.log(2)

        problem = setup.problem
        facts = facts_of(problem)
        bits: float = problem.part("task").bits_of_answer(problem)
        known = facts * max(0.0, bits - mean_of_tests(setup, losses, count=facts, split="each"))
        weights = [] if logits.module is None else logits.module.parameters()
        trained = sum(weight.numel() for weight in weights if weight.requires_grad)
        return known / (trained or parameters_of(problem, setup.dtype).trained)


PART = BitsPerParameter()
