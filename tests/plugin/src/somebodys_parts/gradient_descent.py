"""A learner: full-batch gradient descent on the cross-entropy, with its loss as a curve."""

from __future__ import annotations

import torch
from torch.nn import functional

from recallscope.learning.learner import Learner, Outcome, Setup
from recallscope.parts.field import Field


def learn(setup: Setup) -> Outcome:
    problem, model, losses = setup.problem, setup.model(), []
    tokens, position, label = setup.samples(0, int(problem.samples))
    optimiser = torch.optim.SGD(model.parameters(), lr=problem.rate)
    for step in range(problem.steps):
        optimiser.zero_grad()
        loss = functional.cross_entropy(model(tokens, position), label)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        if setup.progress:
            setup.progress(step + 1, problem.steps)
    return Outcome(logits=model, metrics={"loss": losses, "last_loss": losses[-1]})


LEARNER = Learner(
    learn=learn,
    fields={
        "steps": Field(default=30, low=1, high=10**6, help="Gradient steps."),
        "rate": Field(default=30.0, low=0.0, help="Step size."),
    },
    metrics=("last_loss",),
)
