"""Three gradient steps of finite size, as closed-form gradients streamed over the batch.

No graph of the batch is kept; the softmax over V labels is taken block by block. Per sample, each
of the last two steps costs 2 V d multiply-adds for its two products with the output embeddings.
"""

from __future__ import annotations

from functools import partial

from recallscope.model.arrays import Bonus, KeyWeights, Memory, Numbers, Rows, Scores, Vector
from recallscope.model.instance import Instance
from recallscope.three_step import ops
from recallscope.three_step.attention_gradient import attention_vector, key_weights
from recallscope.three_step.batch import Batch, Tile
from recallscope.three_step.label_softmax import mean_outputs
from recallscope.three_step.memory import store_uniform


def first_value(instance: Instance, batch: Batch) -> Memory:
    """V1 = −η ∇_V loss(0, 0); the guess is uniform, and attention too."""
    assert instance.problem.eta is not None
    return instance.problem.eta * store_uniform(instance, batch)


def attention(instance: Instance, batch: Batch, V1: Memory) -> Vector:
    """α, where W1 = −γ ∇_W loss(V1, 0) = γ α e^T."""
    return attention_vector(instance, batch.mean(partial(_key_weights_of_tile, instance, V1)))


def second_value(instance: Instance, batch: Batch, V1: Memory, alpha: Vector) -> Memory:
    """V2 = V1 − γ ∇_V loss(V1, W1)."""
    assert instance.problem.gamma is not None
    scores, bonus = soft_scores(instance, alpha)
    step = batch.mean(partial(_second_value_of_tile, instance, V1, scores, bonus))
    return (V1 + instance.problem.gamma * step).to(V1.dtype)


def soft_scores(instance: Instance, alpha: Vector) -> tuple[Scores, Bonus]:
    """The attention score k · W1 e of every token, and what the trigger adds to it."""
    assert instance.problem.gamma is not None
    scores, bonus = ops.key_scores(instance, alpha)
    scale = instance.problem.gamma * (instance.end @ instance.end)
    scores, bonus = scale * scores, scale * bonus
    if not (scores.isfinite().all() and bonus.isfinite()):
        raise OverflowError("the scores of attention overflowed; make gamma smaller")
    return scores, bonus


def soft_read(instance: Instance, scores: Scores, bonus: Bonus, tile: Tile) -> Rows:
    """Return the values that softmax attention reads."""
    weights = ops.position_scores(scores, bonus, tile).softmax(dim=1)
    return ops.weighted_read(instance, tile, weights)


def residual(instance: Instance, hidden: Rows, label: Numbers) -> Rows:
    """u_y − Σ_y' p_y' u_y' for the guess p = softmax(U hidden), V labels in blocks.

    The outputs are centred: this shifts all logits of a sample alike, which changes neither p nor
    the residual, and keeps the numbers small.
    """
    outputs = instance.centred_outputs
    return outputs[label] - mean_outputs(hidden, outputs)[0]


def _key_weights_of_tile(instance: Instance, V1: Memory, tile: Tile) -> KeyWeights:
    read = ops.uniform_read(instance, tile)
    error = residual(instance, ops.features(instance, read) @ V1.T, tile.label)
    return key_weights(instance, V1, tile, error, read)


def _second_value_of_tile(
    instance: Instance, V1: Memory, scores: Scores, bonus: Bonus, tile: Tile
) -> Memory:
    read = ops.features(instance, soft_read(instance, scores, bonus, tile))
    return residual(instance, read @ V1.T, tile.label).T @ read
