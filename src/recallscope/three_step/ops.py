"""Products of a tile: the values that attention reads, and the keys of the memory.

A tile of n samples is a sparse n×V matrix with L entries to the row. Sums of embeddings are a
sparse product with it, and no n×L×d array is ever made.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from recallscope.common.shapes import Float
from recallscope.model.activations import activation_of
from recallscope.model.arrays import Bonus, Flags, Numbers, Rows, Scores, Tokens, Vector
from recallscope.model.instance import Instance
from recallscope.three_step.batch import Tile

with warnings.catch_warnings():
    # torch warns once that sparse rows are in beta. Better now than in a thread of the user's.
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1))


def row_products(table: Float[Tensor, "V d"], rows: Tokens, vectors: Rows) -> Float[Tensor, "n L"]:
    """<table[rows_i], vector> at every position.

    >>> row_products(torch.eye(3), torch.tensor([[0, 2]]), torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1., 3.]])
    """
    if len(table) <= rows.shape[1]:  # fewer rows than positions: take them all
        return (vectors @ table.T).gather(1, rows)
    pattern = sparse_rows(rows, vectors.new_zeros(rows.shape), len(table))
    products: Tensor = torch.sparse.sampled_addmm(pattern, vectors, table.T)
    return products.values().view(rows.shape)


def sparse_rows(
    places: Tokens, weights: Float[Tensor, "n L"], columns: int
) -> Float[Tensor, "n columns"]:
    """A sparse matrix with as many entries in each row, at these places of it.

    A place may occur in a row more than once, and in any order. Torch calls that invalid, but its
    products add such entries up, as is meant here; a test checks it.
    """
    rows, length = places.shape
    return torch.sparse_csr_tensor(
        torch.arange(0, rows * length + 1, length, device=weights.device),
        places.reshape(-1),
        weights.reshape(-1),
        (rows, columns),
        check_invariants=False,
    )


def weighted_read(instance: Instance, tile: Tile, weights: Float[Tensor, "n L"]) -> Rows:
    """Σ_i a_i v_i for given attention a."""
    read = sparse_rows(tile.tokens, weights, instance.problem.vocab) @ instance.tokens
    if instance.problem.trigger_in_values:
        read += weights.gather(1, tile.position[:, None]) * instance.trigger
    return read


def uniform_read(instance: Instance, tile: Tile) -> Rows:
    """h = the mean of the values: what uniform attention reads."""
    weights = instance.tokens.new_full(tile.tokens.shape, 1 / instance.problem.length)
    return weighted_read(instance, tile, weights)


def token_read(instance: Instance, tokens: Numbers, marked: Flags) -> Rows:
    """The value of a token, marked or not: what attention to it alone reads."""
    read = instance.tokens[tokens]
    if instance.problem.trigger_in_values:
        read += marked[:, None] * instance.trigger
    return read


def features(instance: Instance, read: Rows) -> Float[Tensor, "n m"]:
    """φ(W_in h), or h itself without an MLP."""
    if instance.hidden_weights is None:
        return read
    return activation_of(instance.problem).value(read @ instance.hidden_weights.T)


def key_scores(instance: Instance, alpha: Vector) -> tuple[Scores, Bonus]:
    """The attention score of every token, and what the trigger adds to it."""
    return instance.tokens @ alpha, instance.trigger @ alpha


def position_scores(scores: Scores, bonus: Bonus, tile: Tile) -> Float[Tensor, "n L"]:
    """k_{n,i} · α at every position."""
    place = tile.position[:, None]
    result = scores.index_select(0, tile.tokens.view(-1)).view(tile.tokens.shape)
    return result.scatter_add_(1, place, bonus.expand(place.shape))


def attend(scores: Scores, bonus: Bonus, tile: Tile) -> tuple[Numbers, Flags]:
    """The token attended to, the first of the highest score, and whether it is the marked one."""
    place = position_scores(scores, bonus, tile).argmax(dim=1)
    attended = tile.tokens.gather(1, place[:, None])[:, 0]
    return attended, place == tile.position


def always_finds(scores: Scores, bonus: Bonus) -> bool:
    """Whether the marked position wins whatever the tokens are, rounding included."""
    return bool(scores.min() + bonus > scores.max())
