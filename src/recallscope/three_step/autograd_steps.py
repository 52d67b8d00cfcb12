"""Three gradient steps of any model, on any task and for any loss, by autograd.

Value, attention, value: a model says which of its weights are which (`Model.three_step_parts`);
without that, each of the steps moves all weights. The batch is passed through in blocks of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from recallscope.common.blocks import blocks
from recallscope.common.errors import ProblemError
from recallscope.common.shapes import Float, Int64
from recallscope.model.learner import Outcome, mean_of_tests, tested
from recallscope.model.setup import Setup
from recallscope.three_step.threads import Threads

Loss = Callable[[Tensor, Tensor], Tensor]
"""From logits (n×labels) and labels (n) to the mean over the samples."""

_ROWS, _LOGITS = 1024, 2**22  # of a block: fixed, since sums of other blocks round otherwise


def squared_error(logits: Float[Tensor, "n V"], label: Int64[Tensor, " n"]) -> Float[Tensor, ""]:
    """Half of the squared distance to 1 for the right label and 0 for all others.

    >>> squared_error(torch.zeros(1, 3), torch.tensor([1]))
    tensor(0.5000)
    """
    wanted = functional.one_hot(label, logits.shape[1]).to(logits)
    return (logits - wanted).square().sum(dim=1).mean() / 2


LOSSES: dict[str, Loss] = {
    "cross-entropy": functional.cross_entropy,
    "squared-error": squared_error,
    "hinge": functional.multi_margin_loss,
}


def learn_by_autograd(setup: Setup, loss: Loss) -> Outcome:
    """Take the three steps, of the sizes η, γ and γ of the problem, and test what was learnt."""
    problem = setup.problem
    assert problem.eta is not None
    assert problem.gamma is not None
    with Threads(1):
        module = setup.model().to(getattr(torch, setup.dtype)).eval()
        values, attention = _parts_of(setup, module)
        steps = ((values, problem.eta), (attention, problem.gamma), (values, problem.gamma))
        for number, (weights, size) in enumerate(steps):
            changes = _gradients(setup, module, weights, loss, number)
            with torch.no_grad():
                for weight, change in zip(weights, changes, strict=True):
                    weight.sub_(size * change)
        return _outcome(setup, module)


def _parts_of(
    setup: Setup, module: nn.Module
) -> tuple[Sequence[nn.Parameter], Sequence[nn.Parameter]]:
    """The weights of the first and third step, and those of the second."""
    parts = setup.problem.part("model").three_step_parts(module)
    if parts is None:
        every = [weight for weight in module.parameters() if weight.requires_grad]
        return every, every
    values, attention = parts
    return list(values), list(attention)


def _gradients(
    setup: Setup, module: nn.Module, weights: Sequence[nn.Parameter], loss: Loss, step: int
) -> list[Tensor]:
    """The gradient of the mean loss over the batch."""
    labels = setup.problem.part("task").number_of_labels(setup.problem)
    samples = int(setup.problem.samples)
    total = [torch.zeros_like(weight) for weight in weights]
    for rows in blocks(samples, max(1, min(_ROWS, _LOGITS // labels))):
        tokens, position, label = setup.samples(rows.start, rows.stop)
        error: Any = loss(module(tokens, position), label)
        if not isinstance(error, Tensor) or error.ndim:
            raise ProblemError(
                "a loss is one number, the mean over the samples, as a tensor with a gradient, "
                f"not {type(error).__name__} of the shape {tuple(getattr(error, 'shape', ()))}"
            )
        share = (rows.stop - rows.start) / samples
        gradients = torch.autograd.grad(error, list(weights), allow_unused=True)
        for place, change in enumerate(gradients):
            if change is not None:  # a weight that no logit depends on
                total[place] += share * change
        if setup.progress is not None:
            setup.progress(step * samples + rows.stop, 3 * samples)
    return total


def _outcome(setup: Setup, module: nn.Module) -> Outcome:
    if not all(bool(weight.isfinite().all()) for weight in module.parameters()):
        raise OverflowError(f"the weights overflowed {setup.dtype}; make steps smaller")
    numbers = tested(setup, module)
    attended: Any = getattr(module, "attention", None)
    if callable(attended) and not isinstance(attended, nn.Module):
        numbers["attention_accuracy"] = mean_of_tests(
            setup, lambda tokens, position, _: attended(tokens, position).argmax(dim=1) == position
        )
    return Outcome(logits=module, numbers=numbers)
