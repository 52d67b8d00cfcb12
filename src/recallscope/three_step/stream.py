"""The limit of three-step learning, by streaming embeddings: memory free of N and V².

Multiply-adds per sample: 2 L d for the sums and the inner products of embeddings and 2 d² for the
matrix products. With an MLP of width m they are 3 L d and 5 m d. Where attention does not always
find the trigger, the third step adds d², or 2 m d.
"""

from __future__ import annotations

from functools import partial

from recallscope.model.arrays import Bonus, KeyWeights, Memory, Scores, Vector
from recallscope.model.instance import Instance
from recallscope.three_step import ops
from recallscope.three_step.attention_gradient import attention_vector, key_weights
from recallscope.three_step.batch import Batch, Tile
from recallscope.three_step.memory import store_marked, store_uniform


def first_value(instance: Instance, batch: Batch) -> Memory:
    """V1 = (1/N) Σ_n q_n φ(W_in h_n)^T: the first step, from uniform attention and guesses."""
    return store_uniform(instance, batch)


def attention(instance: Instance, batch: Batch, V1: Memory) -> Vector:
    """α = (1/NL) Σ_n Σ_i <v_{n,i} − h_n, b_n> k_{n,i}: the second step."""
    return attention_vector(instance, batch.mean(partial(_key_weights_of_tile, instance, V1)))


def second_value(instance: Instance, batch: Batch, V1: Memory, alpha: Vector) -> Memory:
    """V2 = (1/N) Σ_n q_n φ(W_in v_{n,j(n)})^T, with attention as an argmax: the third step."""
    scores, bonus = ops.key_scores(instance, alpha)
    if ops.always_finds(scores, bonus):
        return store_marked(instance, batch)
    return batch.mean(partial(_second_value_of_tile, instance, scores, bonus)).to(V1.dtype)


def _key_weights_of_tile(instance: Instance, V1: Memory, tile: Tile) -> KeyWeights:
    read = None if instance.hidden_weights is None else ops.uniform_read(instance, tile)
    return key_weights(instance, V1, tile, instance.centred_outputs[tile.label], read)


def _second_value_of_tile(instance: Instance, scores: Scores, bonus: Bonus, tile: Tile) -> Memory:
    read = ops.token_read(instance, *ops.attend(scores, bonus, tile))
    return instance.centred_outputs[tile.label].T @ ops.features(instance, read)
