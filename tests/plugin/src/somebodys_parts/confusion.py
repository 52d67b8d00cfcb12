"""A metric with two axes: how often each label is answered where another is right."""

from __future__ import annotations

import torch

from recallscope.experiment.metric import Metric


def measure(setup, learnt) -> torch.Tensor:
    tokens, position, label = setup.samples(0, setup.test_samples, "test")
    with torch.no_grad():
        answer = learnt(tokens, position).argmax(dim=1)
    found = torch.zeros(setup.problem.vocab, setup.problem.vocab, dtype=torch.int64)
    return found.index_put_((label, answer), torch.ones_like(answer), accumulate=True)


METRIC = Metric(measure=measure)
