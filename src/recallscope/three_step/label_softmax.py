"""The softmax over all labels, block by block: V logits of all samples never exist at once."""

from __future__ import annotations

import torch
from torch import Tensor

from recallscope.common.blocks import blocks
from recallscope.common.shapes import Float
from recallscope.model.arrays import Rows

_ROWS_AT_ONCE = 256
_LABELS_AT_ONCE = 2048
_SAFE_EXPONENT = 30.0


def mean_outputs(hidden: Rows, outputs: Float[Tensor, "V d"]) -> tuple[Rows, Float[Tensor, " n"]]:
    """Σ_y p_y u_y for the guess p = softmax(U hidden), and log Σ_y exp(u_y · hidden).

    >>> mean, log_sum = mean_outputs(torch.zeros(1, 2), torch.eye(2))
    >>> mean.tolist(), round(log_sum.item(), 4)
    ([[0.5, 0.5]], 0.6931)
    """
    mean, log_sum = torch.empty_like(hidden), hidden.new_empty(len(hidden))
    scratch = hidden.new_empty(_ROWS_AT_ONCE * _LABELS_AT_ONCE)
    # No logit exceeds the product of the norms; while that is small, exp needs no shift.
    small = float(hidden.norm(dim=1).max() * outputs.norm(dim=1).max()) < _SAFE_EXPONENT
    of_rows = _unshifted if small else _shifted
    for rows in blocks(len(hidden), _ROWS_AT_ONCE):
        mean[rows], log_sum[rows] = of_rows(outputs, hidden[rows], scratch)
    return mean, log_sum


def _shifted(
    outputs: Float[Tensor, "V d"], hidden: Rows, scratch: Float[Tensor, " size"]
) -> tuple[Rows, Float[Tensor, " n"]]:
    """With a running maximum: no exponential overflows."""
    top = hidden.new_full((len(hidden), 1), -torch.inf)
    mass = torch.zeros_like(top)
    mean = torch.zeros_like(hidden)
    for block in torch.split(outputs, _LABELS_AT_ONCE):
        weights = _logits(block, hidden, scratch)
        new_top = torch.maximum(top, weights.amax(dim=1, keepdim=True))
        weights.sub_(new_top).exp_()
        shrink = (top - new_top).exp_()
        mass.mul_(shrink).add_(weights.sum(dim=1, keepdim=True))
        mean.mul_(shrink).addmm_(weights, block)
        top = new_top
    return mean / mass, (top + mass.log())[:, 0]


def _unshifted(
    outputs: Float[Tensor, "V d"], hidden: Rows, scratch: Float[Tensor, " size"]
) -> tuple[Rows, Float[Tensor, " n"]]:
    """The same for small logits, with two passes fewer over them."""
    mass = hidden.new_zeros(len(hidden), 1)
    mean = torch.zeros_like(hidden)
    for block in torch.split(outputs, _LABELS_AT_ONCE):
        weights = _logits(block, hidden, scratch).exp_()
        mass.add_(weights.sum(dim=1, keepdim=True))
        mean.addmm_(weights, block)
    return mean / mass, mass.log()[:, 0]


def _logits(
    block: Float[Tensor, "labels d"], hidden: Rows, scratch: Float[Tensor, " size"]
) -> Float[Tensor, "n labels"]:
    out = scratch[: len(hidden) * len(block)].view(len(hidden), len(block))
    return torch.mm(hidden, block.T, out=out)
