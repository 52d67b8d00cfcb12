"""How often the right label is among the k highest logits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.experiment.metric import Metric
from recallscope.parts.field import Field

if TYPE_CHECKING:
    from recallscope.learning.learner import Logits, Setup

_TESTS_AT_ONCE = 1024


def _measure(setup: Setup, logits: Logits) -> float:
    import torch

    best, right = min(setup.problem.k, setup.problem.vocab), 0
    with torch.no_grad():
        for start in range(0, setup.test_samples, _TESTS_AT_ONCE):
            stop = min(start + _TESTS_AT_ONCE, setup.test_samples)
            tokens, position, label = setup.samples(start, stop, "test")
            top = logits(tokens, position).topk(best, dim=1).indices
            right += int((top == label[:, None]).sum())
    return right / setup.test_samples


PART = Metric(measure=_measure, fields={"k": Field(default=5, low=1, help="How many labels.")})
