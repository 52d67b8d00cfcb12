"""A metric: how often the model gives its answer a high probability."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from recallscope import Metric, problem_field


@dataclass(frozen=True)
class Confidence(Metric):
    sure: float = problem_field(0.5, low=0.0, high=1.0, help="Above this, it is sure.")

    def measure(self, setup, logits) -> float:
        tokens, position, _ = setup.samples(0, setup.test_samples, "test")
        with torch.no_grad():
            sure = logits(tokens, position).softmax(dim=1).amax(dim=1) > self.sure
        return sure.double().mean().item()
