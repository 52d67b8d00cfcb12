"""A metric with two axes: how often each label is answered where another is right."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from recallscope import Metric


@dataclass(frozen=True)
class Confusion(Metric):
    def measure(self, setup, logits) -> torch.Tensor:
        tokens, position, label = setup.samples(0, setup.test_samples, "test")
        with torch.no_grad():
            answer = logits(tokens, position).argmax(dim=1)
        found = torch.zeros(setup.problem.vocab, setup.problem.vocab, dtype=torch.int64)
        return found.index_put_((label, answer), torch.ones_like(answer), accumulate=True)
