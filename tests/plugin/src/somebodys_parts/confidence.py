"""A metric: how often the model gives its answer a high probability."""

from __future__ import annotations

import torch

from recallscope.experiment.metric import Metric
from recallscope.parts.field import Field


def measure(setup, logits) -> float:
    tokens, position, _ = setup.samples(0, setup.test_samples, "test")
    with torch.no_grad():
        sure = logits(tokens, position).softmax(dim=1).amax(dim=1) > setup.problem.sure
    return sure.double().mean().item()


METRIC = Metric(
    measure=measure,
    fields={"sure": Field(default=0.5, low=0.0, high=1.0, help="Above this, it is sure.")},
)
