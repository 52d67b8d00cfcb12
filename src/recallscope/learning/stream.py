"""The limit of three-step learning, by streaming embeddings: memory free of N and V².

Multiply-adds per sample: 2 L d for the sums and the inner products of embeddings and 2 d² for the
matrix products; with an MLP of width m, 3 L d and 5 m d. Where attention does not always lock, the
third step adds d², or 2 m d.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from recallscope.learning.batch import Batch, Tile
from recallscope.learning.memory import store_marked
from recallscope.learning.read import (
    always_locks,
    attend,
    features,
    incidence,
    key_scores,
    token_read,
    uniform_read,
)
from recallscope.network.activations import activation_of
from recallscope.world.world import World

if TYPE_CHECKING:
    from jaxtyping import Float


def first_value(world: World, batch: Batch) -> Float[Tensor, "d m"]:
    """V1 = (1/N) Σ_n q_n φ(W_in h_n)^T: the first step, from uniform attention and guesses."""
    return batch.mean(partial(_first_value_of_tile, world)).to(world.tokens.dtype)


def attention(world: World, batch: Batch, V1: Float[Tensor, "d m"]) -> Float[Tensor, " d"]:
    """α = (1/NL) Σ_n Σ_i <v_{n,i} − h_n, b_n> k_{n,i}: the second step."""
    return attention_vector(world, batch.mean(partial(_key_weights_of_tile, world, V1)))


def second_value(
    world: World, batch: Batch, V1: Float[Tensor, "d m"], alpha: Float[Tensor, " d"]
) -> Float[Tensor, "d m"]:
    """V2 = (1/N) Σ_n q_n φ(W_in v_{n,j(n)})^T, attention being an argmax: the third step."""
    scores, bonus = key_scores(world, alpha)
    if always_locks(scores, bonus):
        return store_marked(world, batch)
    return batch.mean(partial(_second_value_of_tile, world, scores, bonus)).to(V1.dtype)


def _first_value_of_tile(world: World, tile: Tile) -> Float[Tensor, "d m"]:
    return world.centred_outputs[tile.label].T @ features(world, uniform_read(world, tile))


def _key_weights_of_tile(
    world: World, V1: Float[Tensor, "d m"], tile: Tile
) -> Float[Tensor, " V+1"]:
    read = None if world.hidden_weights is None else uniform_read(world, tile)
    return key_weights(world, V1, tile, world.centred_outputs[tile.label], read)


def _second_value_of_tile(
    world: World, scores: Float[Tensor, " V"], bonus: Float[Tensor, ""], tile: Tile
) -> Float[Tensor, "d m"]:
    read = token_read(world, *attend(scores, bonus, tile))
    return world.centred_outputs[tile.label].T @ features(world, read)


def key_weights(
    world: World,
    V1: Float[Tensor, "d m"],
    tile: Tile,
    residual: Float[Tensor, "n d"],
    read: Float[Tensor, "n d"] | None,
) -> Float[Tensor, " V+1"]:
    """What each key adds to α: a weight for every token and, last, one for the trigger.

    The weights are (1/L) Σ <v_i − h, b>, summed over the places where the key occurs; b is the
    residual sent back through V1 and, at what was read, through the MLP. One V-vector stands for
    a sum over all positions of d-vectors.
    """
    back = residual @ V1
    if world.hidden_weights is not None:
        assert read is not None
        slope = activation_of(world.problem).slope(read @ world.hidden_weights.T)
        back = (back * slope) @ world.hidden_weights
    return sum_key_weights(world, tile, _products(world, tile, back), back @ world.trigger_value)


def _products(world: World, tile: Tile, back: Float[Tensor, "n d"]) -> Float[Tensor, "n L"]:
    """<z_{x_i}, b> at every position."""
    if world.problem.vocab <= world.problem.length:  # fewer tokens than positions: take them all
        return (back @ world.tokens.T).gather(1, tile.tokens)
    pattern = incidence(tile, back.new_zeros(tile.tokens.shape), world.problem.vocab)
    products: Tensor = torch.sparse.sampled_addmm(pattern, back, world.tokens.T)
    return products.values().view(tile.tokens.shape)


def sum_key_weights(
    world: World, tile: Tile, products: Float[Tensor, "n L"], trigger_products: Float[Tensor, " n"]
) -> Float[Tensor, " V+1"]:
    """From <z_{x_i}, b>, which is overwritten, and <t, b> to the weights."""
    place = tile.position[:, None]
    if world.problem.trigger_in_values:
        products.scatter_add_(1, place, trigger_products[:, None])
    products -= products.mean(dim=1, keepdim=True)
    total = torch.zeros(world.problem.vocab + 1, dtype=torch.float64, device=products.device)
    total[:-1].scatter_add_(0, tile.tokens.view(-1), products.view(-1).double())
    total[-1] = products.gather(1, place).sum(dtype=torch.float64)
    return total / world.problem.length


def attention_vector(world: World, weights: Float[Tensor, " V+1"]) -> Float[Tensor, " d"]:
    """α from the weight of every key."""
    weights = weights.to(world.tokens.dtype)
    return weights[:-1] @ world.tokens + weights[-1] * world.trigger
