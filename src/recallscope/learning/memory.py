"""A linear associative memory: outputs stored against what was read."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from recallscope.learning.batch import Batch, Tile
from recallscope.learning.read import features
from recallscope.learning.tree_sum import tree_sum
from recallscope.learning.workers import Workers
from recallscope.world.world import World

if TYPE_CHECKING:
    from jaxtyping import Float, Int64

_ROWS_AT_ONCE = 1024


def store(
    world: World,
    workers: Workers,
    outputs: Float[Tensor, "n d"],
    reads: Float[Tensor, "n d"],
) -> Float[Tensor, "d m"]:
    """Σ_n outputs_n φ(W_in reads_n)^T, in float64 and block by block."""

    def part(start: int) -> Float[Tensor, "d m"]:
        rows = slice(start, start + _ROWS_AT_ONCE)
        return (outputs[rows].T @ features(world, reads[rows])).double()

    return tree_sum(workers.map(part, range(0, len(outputs), _ROWS_AT_ONCE)))


def ideal_memory(world: World, workers: Workers) -> Float[Tensor, "d m"]:
    """Σ_v u_π(v) φ(W_in z_v)^T: the memory of each fact once, and of nothing else."""
    return store(world, workers, world.outputs[world.labels], world.tokens)


def store_marked(world: World, batch: Batch) -> Float[Tensor, "d m"]:
    """V2 when every sample is read at its mark: how often each label occurs is all that counts."""
    frequency = batch.mean(partial(_label_counts, world.problem.vocab)).to(world.tokens.dtype)
    outputs = (world.centred_outputs * frequency[:, None])[world.labels]
    reads = world.tokens + world.trigger_value
    return store(world, batch.workers, outputs, reads).to(world.tokens.dtype)


def _label_counts(vocab: int, tile: Tile) -> Int64[Tensor, " V"]:
    return torch.bincount(tile.label, minlength=vocab)
