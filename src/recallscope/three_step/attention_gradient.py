"""From the residuals of a tile to the attention vector α, shared by all engines' second step."""

from __future__ import annotations

import torch

from recallscope.model.activations import activation_of
from recallscope.model.arrays import Attention, KeyWeights, Memory, PerSample, Rows, Vector
from recallscope.model.instance import Instance
from recallscope.three_step.batch import Tile
from recallscope.three_step.ops import row_products


def key_weights(
    instance: Instance, V1: Memory, tile: Tile, residual: Rows, read: Rows | None
) -> KeyWeights:
    """The weight of each key in α: one for every token and, last, one for the trigger.

    The weights are (1/L) Σ <v_i − h, b>, summed over the places where the key occurs. Here b is the
    residual sent back through V1 and, at what was read, through the MLP. One V-vector stands for a
    sum over all positions of d-vectors.
    """
    back = residual @ V1
    if instance.hidden_weights is not None:
        assert read is not None
        slope = activation_of(instance.problem).slope(read @ instance.hidden_weights.T)
        back = (back * slope) @ instance.hidden_weights
    return sum_key_weights(
        instance,
        tile,
        row_products(instance.tokens, tile.tokens, back),
        back @ instance.trigger_value,
    )


def sum_key_weights(
    instance: Instance, tile: Tile, products: Attention, trigger_products: PerSample
) -> KeyWeights:
    """From <z_{x_i}, b>, which is overwritten, and <t, b> to the weights."""
    place = tile.position[:, None]
    if instance.problem.trigger_in_values:
        products.scatter_add_(1, place, trigger_products[:, None])
    products -= products.mean(dim=1, keepdim=True)
    total = torch.zeros(instance.problem.vocab + 1, dtype=torch.float64, device=products.device)
    total[:-1].scatter_add_(0, tile.tokens.view(-1), products.view(-1).double())
    total[-1] = products.gather(1, place).sum(dtype=torch.float64)
    return total / instance.problem.length


def attention_vector(instance: Instance, weights: KeyWeights) -> Vector:
    """α from the weight of every key."""
    weights = weights.to(instance.tokens.dtype)
    return weights[:-1] @ instance.tokens + weights[-1] * instance.trigger
