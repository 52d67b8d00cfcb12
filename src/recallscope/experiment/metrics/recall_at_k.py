"""How often the right label is among the k highest logits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.experiment.metric import Metric
from recallscope.learning.learner import mean_of_tests
from recallscope.parts.field import Field

if TYPE_CHECKING:
    from torch import Tensor

    from recallscope.learning.learner import Logits, Setup


def _measure(setup: Setup, logits: Logits) -> float:
    best = min(setup.problem["k"], setup.problem.vocab)

    def right(tokens: Tensor, position: Tensor, label: Tensor) -> Tensor:
        top = logits(tokens, position).topk(best, dim=1).indices
        return (top == label[:, None]).any(dim=1)

    return mean_of_tests(setup, right)


PART = Metric(measure=_measure, fields={"k": Field(default=5, low=1, help="How many labels.")})
