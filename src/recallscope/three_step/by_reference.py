"""The reference as an engine: the whole batch of a problem at once, by autograd."""

from __future__ import annotations

import torch

from recallscope.model.activations import activation_of
from recallscope.model.arrays import Memory, Vector
from recallscope.model.instance import Instance
from recallscope.three_step import reference
from recallscope.three_step.batch import Batch


def frozen_of(instance: Instance) -> reference.Frozen:
    """Return the frozen weights of an instance."""
    return reference.Frozen(
        z=instance.tokens,
        u=instance.outputs,
        z_trig=instance.trigger,
        z_EOS=instance.end,
        v_trig=instance.trigger_value,
        W_in=instance.hidden_weights,
        phi=torch.relu
        if instance.hidden_weights is None
        else activation_of(instance.problem).value,
    )


def batch_of(draw: Batch) -> reference.Batch:
    """All samples of a batch."""
    tokens, position, label = (
        torch.from_numpy(array).long().to(draw.device) for array in draw.draw(0, draw.samples)
    )
    return reference.Batch(x=tokens, i=position, y=label)


def learn(instance: Instance, batch: Batch) -> tuple[Memory, Vector, Memory]:
    """W_V after one step, α where W_KQ = α z_EOS^T (times γ, if finite), W_V after three."""
    eta, gamma = instance.problem.eta, instance.problem.gamma
    sizes = () if eta is None or gamma is None else (eta, gamma)
    with torch.enable_grad():
        one, three = reference.three_steps(frozen_of(instance), batch_of(batch), *sizes)
    alpha = three.W_KQ.detach() @ instance.end / (instance.end @ instance.end) / (gamma or 1.0)
    return one.W_V.detach(), alpha, three.W_V.detach()
