"""A linear associative memory: outputs stored against what was read."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from recallscope.common.blocks import blocks
from recallscope.common.shapes import Int64
from recallscope.model.arrays import Memory, Rows
from recallscope.model.instance import Instance
from recallscope.three_step.batch import Batch, Tile
from recallscope.three_step.ops import features, uniform_read
from recallscope.three_step.threads import Threads
from recallscope.three_step.tree_sum import tree_sum

_ROWS_AT_ONCE = 1024


def store(instance: Instance, threads: Threads, outputs: Rows, reads: Rows) -> Memory:
    """Σ_n outputs_n φ(W_in reads_n)^T, in float64 and block by block."""

    def part(rows: slice) -> Memory:
        return (outputs[rows].T @ features(instance, reads[rows])).double()

    return tree_sum(threads.map(part, blocks(len(outputs), _ROWS_AT_ONCE)))


def store_uniform(instance: Instance, batch: Batch) -> Memory:
    """(1/N) Σ_n q_n φ(W_in h_n)^T: each label stored under what uniform attention reads."""
    return batch.mean(partial(_uniform_of_tile, instance)).to(instance.tokens.dtype)


def _uniform_of_tile(instance: Instance, tile: Tile) -> Memory:
    return instance.centred_outputs[tile.label].T @ features(instance, uniform_read(instance, tile))


def ideal_memory(instance: Instance, threads: Threads) -> Memory:
    """Σ_v u_π(v) φ(W_in z_v)^T: the memory of each fact once, and of nothing else."""
    return store(instance, threads, instance.outputs[instance.labels], instance.tokens)


def store_marked(instance: Instance, batch: Batch) -> Memory:
    """V2 when every sample is read at its trigger: only how often each label occurs matters."""
    frequency = batch.mean(partial(_label_counts, instance.problem.vocab)).to(instance.tokens.dtype)
    outputs = (instance.centred_outputs * frequency[:, None])[instance.labels]
    reads = instance.tokens + instance.trigger_value
    return store(instance, batch.threads, outputs, reads).to(instance.tokens.dtype)


def _label_counts(vocab: int, tile: Tile) -> Int64[Tensor, " V"]:
    return torch.bincount(tile.label, minlength=vocab)
