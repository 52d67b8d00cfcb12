"""A learner: full-batch gradient descent on the cross-entropy, with its loss as a curve."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional

from recallscope import Learner, Outcome, Setup, problem_field


@dataclass(frozen=True)
class PlainDescent(Learner):
    metrics = ("last_loss",)

    steps: int = problem_field(30, low=1, high=10**6, help="Gradient steps.")
    rate: float = problem_field(30.0, low=0.0, help="Step size.")

    def learn(self, setup: Setup) -> Outcome:
        model, losses = setup.model(), []
        tokens, position, label = setup.samples(0, int(setup.problem.samples))
        optimiser = torch.optim.SGD(model.parameters(), lr=self.rate)
        for step in range(self.steps):
            optimiser.zero_grad()
            loss = functional.cross_entropy(model(tokens, position), label)
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
            if setup.progress:
                setup.progress(step + 1, self.steps)
        return Outcome(logits=model, metrics={"loss": losses, "last_loss": losses[-1]})
