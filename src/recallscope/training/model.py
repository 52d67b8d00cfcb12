"""The paper's model as it is trained: several runs in one operation, no array of n×L×d."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from recallscope.common.shapes import Float, Int64
from recallscope.model.activations import activation_of
from recallscope.model.instance import Instance
from recallscope.three_step.label_softmax import mean_outputs
from recallscope.three_step.ops import row_products

Tokens = Int64[Tensor, "runs n L"]
Numbers = Int64[Tensor, "runs n"]
Rows = Float[Tensor, "runs n d"]
Attention = Float[Tensor, "runs n L"]

_FROZEN = ("tokens", "outputs", "trigger", "trigger_value", "end", "hidden_weights")


class TrainedTransformer(nn.Module):
    """`Transformer` for one or more runs of one problem, each with its instance and its weights.

    The attention score of a token does not depend on its place. One score for each token of the
    vocabulary is enough, and a weighted sum of rows of the table reads the sequence. Everything has
    a first dimension for the runs, but the weights of one run alone, which are matrices.

    >>> from recallscope.problem.problem import Problem
    >>> problem = Problem(vocab=64, samples=100, dim=16, length=4)
    >>> model = TrainedTransformer([Instance.make(problem, seed) for seed in range(3)], ("tokens",))
    >>> [(name, list(weight.shape)) for name, weight in model.named_parameters()]
    [('V', [3, 16, 16]), ('W', [3, 16, 16]), ('tokens', [3, 64, 16])]
    """

    tokens: Tensor
    outputs: Tensor
    trigger: Tensor
    trigger_value: Tensor
    end: Tensor
    hidden_weights: Tensor | None
    centred: Tensor | None
    first_rows: Tensor

    def __init__(self, instances: Sequence[Instance], learnt: Sequence[str] = ()) -> None:
        super().__init__()
        self.problem, self.runs = instances[0].problem, len(instances)
        dim, hidden = self.problem.dim, self.problem.hidden
        self.V = _weight(instances[0].tokens.new_zeros(self.runs, dim, hidden))
        self.W = _weight(instances[0].tokens.new_zeros(self.runs, dim, dim))
        for name in _FROZEN:
            arrays = [getattr(instance, name) for instance in instances]
            stacked = None if arrays[0] is None else torch.stack(arrays)
            if name in learnt and stacked is not None:
                setattr(self, name, _weight(stacked))
            else:
                self.register_buffer(name, stacked, persistent=False)
        # Shifting all logits of a sample alike changes nothing, and keeps numbers small.
        centred = torch.stack([instance.centred_outputs for instance in instances])
        frozen = "outputs" not in learnt
        self.register_buffer("centred", centred if frozen else None, persistent=False)
        self.register_buffer(
            "first_rows",
            len(instances[0].tokens) * torch.arange(self.runs, device=self.V.device)[:, None, None],
            persistent=False,
        )

    def attention_vector(self) -> Float[Tensor, "runs d 1"]:
        """W e, with which keys are multiplied."""
        d = self.problem.dim
        return self.W.view(self.runs, d, d) @ self.end[:, :, None]

    def attention(self, tokens: Tokens, position: Numbers) -> Attention:
        """How much each position is attended to from the end of the sequence."""
        return self._attention(self._rows(tokens), position)

    def _attention(self, rows: Tokens, position: Numbers) -> Attention:
        vector = self.attention_vector()
        scores = (self._table() @ vector).view(-1).index_select(0, rows.view(-1)).view(rows.shape)
        bonus = (self.trigger[:, None] @ vector).expand(-1, rows.shape[1], 1)
        return scores.scatter_add(2, position[:, :, None], bonus).softmax(dim=2)

    def read(self, tokens: Tokens, position: Numbers) -> Rows:
        """The values of all positions, by how much each is attended to."""
        d, length = self.problem.dim, tokens.shape[2]
        rows = self._rows(tokens)
        weights = self._attention(rows, position)
        read = weighted_sum(
            self._table().view(-1, d), rows.view(-1, length), weights.view(-1, length)
        ).view(self.runs, -1, d)
        if self.problem.trigger_in_values:
            read = read + weights.gather(2, position[:, :, None]) * self.trigger_value[:, None]
        return read

    def hidden(self, tokens: Tokens, position: Numbers) -> Rows:
        """Return the vectors that are compared with the embeddings of the labels."""
        d = self.problem.dim
        read = self.read(tokens, position)
        if self.hidden_weights is not None:
            inner = self.hidden_weights.view(self.runs, -1, d)
            read = activation_of(self.problem).value(read @ inner.mT)
        return read @ self.V.view(self.runs, d, -1).mT

    def forward(self, tokens: Tokens, position: Numbers) -> Float[Tensor, "runs n V"]:
        """The logits of every label."""
        return self.hidden(tokens, position) @ self._labels().mT

    def losses(self, tokens: Tokens, position: Numbers, label: Numbers) -> Float[Tensor, " runs"]:
        """The mean cross-entropy of each run."""
        hidden = self.hidden(tokens, position)
        if self.runs == 1 and self.centred is not None:
            return cross_entropy(hidden[0], self.centred[0], label[0])[None]
        logits = (hidden @ self._labels().mT).view(label.numel(), -1)
        losses = functional.cross_entropy(logits, label.reshape(-1), reduction="none")
        return losses.view(self.runs, -1).mean(dim=1)

    def _rows(self, tokens: Tokens) -> Tokens:
        """Where tokens are in the table of all runs."""
        if self.runs == 1:
            return tokens.contiguous()
        return tokens + self.first_rows

    def _table(self) -> Float[Tensor, "runs V d"]:
        return self.tokens.view(self.runs, -1, self.problem.dim)

    def _labels(self) -> Float[Tensor, "runs V d"]:
        outputs = self.outputs if self.centred is None else self.centred
        return outputs.view(self.runs, -1, self.problem.dim)


def _weight(stacked: Float[Tensor, "runs ..."]) -> nn.Parameter:
    """Weights that learn: of one run alone as a matrix, which some optimisers ask for."""
    return nn.Parameter(stacked[0].clone() if len(stacked) == 1 else stacked)


def weighted_sum(
    table: Float[Tensor, "V d"], rows: Int64[Tensor, "n L"], weights: Float[Tensor, "n L"]
) -> Float[Tensor, "n d"]:
    """Σ_i weights_i table[rows_i]; where the table is frozen, with a gradient several times faster.

    >>> weighted_sum(torch.eye(3), torch.tensor([[0, 2]]), torch.tensor([[0.25, 0.75]]))
    tensor([[0.2500, 0.0000, 0.7500]])
    """
    if table.requires_grad:
        return functional.embedding_bag(rows, table, per_sample_weights=weights, mode="sum")
    total: Tensor = _WeightedSum.apply(table, rows, weights)  # type: ignore[no-untyped-call]
    return total


class _WeightedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: Tensor, weights: Tensor) -> Tensor:
        ctx.save_for_backward(table, rows)
        return functional.embedding_bag(rows, table, per_sample_weights=weights, mode="sum")

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[None, None, Tensor]:
        table, rows = ctx.saved_tensors
        return None, None, row_products(table, rows, slopes[0])


def cross_entropy(
    hidden: Float[Tensor, "n d"], outputs: Float[Tensor, "V d"], label: Int64[Tensor, " n"]
) -> Float[Tensor, ""]:
    """Mean cross-entropy of the logits `hidden @ outputs.T`, which never exist all at once.

    The gradient is known as soon as the loss is: each block of logits is made once and stays in
    the cache. It reaches `hidden` alone, as the outputs are frozen.

    >>> hidden = torch.zeros(5, 3, requires_grad=True)
    >>> round(cross_entropy(hidden, torch.ones(10, 3), torch.arange(5)).item(), 4)  # log 10
    2.3026
    """
    loss: Tensor = _CrossEntropy.apply(hidden, outputs, label)  # type: ignore[no-untyped-call]
    return loss


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, outputs: Tensor, label: Tensor) -> Tensor:
        mean, log_sum = mean_outputs(hidden, outputs)
        own = outputs[label]
        losses = log_sum - (hidden * own).sum(dim=1)
        ctx.save_for_backward(mean.sub_(own))
        return losses.mean()

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors
        return slope * (slopes[0] / len(slope)), None, None
