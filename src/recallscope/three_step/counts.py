"""The limit of three-step learning for attention alone, from a table of co-occurrences.

The first and third step depend on the batch only by how often each label occurs with each token.
That is a V×V table of whole numbers, exact whatever the order. The second step looks its inner
products up in another such table. The samples then cost no factor d at all.

Costs: 3 N L tokens drawn, 2 N L counted or looked up, and 2 V² d multiply-adds for the matrix
products. These are 3 V² d where attention may miss the trigger. The memory is V².
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from recallscope.common.blocks import blocks
from recallscope.common.shapes import Float, Int64
from recallscope.model.arrays import Bonus, KeyWeights, Memory, Numbers, Scores, Vector
from recallscope.model.instance import Instance
from recallscope.three_step.attention_gradient import attention_vector, sum_key_weights
from recallscope.three_step.batch import Batch, Tile
from recallscope.three_step.memory import store_marked
from recallscope.three_step.ops import always_finds, attend, key_scores
from recallscope.three_step.tree_sum import tree_sum

_LABELS_AT_ONCE = 256


def first_value(instance: Instance, batch: Batch) -> Memory:
    """V1 = (1/NL) Q^T C Z, C the table of labels and tokens."""
    total = _memory(
        instance, batch, partial(_all_cells, instance.problem.vocab), instance.problem.length
    )
    return (total / (batch.samples * instance.problem.length)).to(instance.tokens.dtype)


def attention(instance: Instance, batch: Batch, V1: Memory) -> Vector:
    """α, with every inner product <z_x, b_y> looked up in the table G = Q V1 Z^T."""
    back = instance.centred_outputs @ V1
    vocab = instance.problem.vocab
    table = batch.large_table.take(vocab * vocab, V1.dtype, zeros=False).view(vocab, vocab)

    def fill(labels: slice) -> None:
        torch.mm(back[labels], instance.tokens.T, out=table[labels])

    for _ in batch.threads.map(fill, blocks(vocab, _LABELS_AT_ONCE)):
        pass
    trigger_products = back @ instance.trigger_value
    statistic = partial(_key_weights_of_tile, instance, table.view(-1), trigger_products)
    return attention_vector(instance, batch.mean(statistic))


def second_value(instance: Instance, batch: Batch, V1: Memory, alpha: Vector) -> Memory:
    """V2 = (1/N) Q^T C Z, C now the table of labels and attended tokens."""
    scores, bonus = key_scores(instance, alpha)
    if always_finds(scores, bonus):
        return store_marked(instance, batch)
    total = _memory(instance, batch, partial(_attended_cells, scores, bonus), 1)
    return (total / batch.samples).to(V1.dtype)


def _all_cells(vocab: int, tile: Tile) -> tuple[Int64[Tensor, " n*L"], Numbers]:
    """The cells of the table to count for a tile, and the labels with the trigger in a value."""
    return (tile.label[:, None] * vocab + tile.tokens).view(-1), tile.label


def _attended_cells(
    scores: Scores, bonus: Bonus, tile: Tile
) -> tuple[Numbers, Int64[Tensor, " found"]]:
    attended, at_marked = attend(scores, bonus, tile)
    return tile.label * len(scores) + attended, tile.label[at_marked]


def _key_weights_of_tile(
    instance: Instance, table: Float[Tensor, " V*V"], trigger_products: Scores, tile: Tile
) -> KeyWeights:
    cells, _ = _all_cells(instance.problem.vocab, tile)
    products = table.index_select(0, cells).view(tile.tokens.shape)
    return sum_key_weights(instance, tile, products, trigger_products[tile.label])


def _memory(
    instance: Instance,
    batch: Batch,
    cells: Callable[[Tile], tuple[Int64[Tensor, " cells"], Int64[Tensor, " labels"]]],
    per_sample: int,
) -> Memory:
    """Q^T C Z plus, for the labels with the trigger in their value, Q^T c t^T; in float64."""
    vocab = instance.problem.vocab

    def places(tile: Tile) -> tuple[Numbers, ...]:
        paired, marked = cells(tile)
        if not instance.problem.trigger_in_values:
            return (paired,)
        return paired, marked + vocab * vocab

    most, dtype = batch.samples * per_sample, instance.tokens.dtype
    counted = batch.count(places, vocab * vocab + vocab, most, dtype)
    table, marked = counted[: vocab * vocab].view(vocab, vocab), counted[vocab * vocab :]

    def part(labels: slice) -> Memory:
        values = table[labels].to(instance.tokens.dtype) @ instance.tokens
        if instance.problem.trigger_in_values:
            values += marked[labels, None].to(instance.tokens.dtype) * instance.trigger
        return (instance.centred_outputs[labels].T @ values).double()

    return tree_sum(batch.threads.map(part, blocks(vocab, _LABELS_AT_ONCE)))
