"""A small transformer in which every usual feature can be switched off.

Without positions, layer norm, residuals and MLP and with frozen embeddings, one layer of it is the
model of the paper. Each of the paper's two matrices is a product of two.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from recallscope.common.shapes import Float, Int64
from recallscope.model.input_ids import trigger_of

if TYPE_CHECKING:
    from recallscope.model.setup import Setup
    from recallscope.problem.problem import Problem

MATRICES = ["qkv", "out", "up", "down"]
"""The modules of a layer that a low-rank update is for."""


class Layer(nn.Module):
    """Attention and an MLP, each after a norm and added to what comes in."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        dim, ratio = problem.dim, problem["mlp_ratio"]
        self.heads, self.dropout = problem["heads"], problem["dropout"]
        self.residual = problem["residual"]
        self.norms = nn.ModuleList(
            nn.LayerNorm(dim) if problem["layer_norm"] else nn.Identity() for _ in range(2)
        )
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up = self.down = None
        if ratio:
            self.up = nn.Linear(dim, max(1, round(ratio * dim)))
            self.down = nn.Linear(self.up.out_features, dim)

    def forward(self, x: Float[Tensor, "n T d"], last: bool) -> Float[Tensor, "n t d"]:
        """Return the hidden states at every position, or at the last one alone."""
        q, k, v = self.qkv(self.norms[0](x)).chunk(3, dim=2)
        if last:  # nothing reads the others
            q, x = q[:, -1:], x[:, -1:]
        q, k, v = (
            projection.unflatten(2, (self.heads, -1)).transpose(1, 2) for projection in (q, k, v)
        )
        read = functional.scaled_dot_product_attention(
            q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=not last
        )
        x = self._added(x, self.out(read.transpose(1, 2).flatten(2)))
        if self.up is None or self.down is None:
            return x
        return self._added(x, self.down(functional.gelu(self.up(self.norms[1](x)))))

    def _added(self, x: Tensor, change: Tensor) -> Tensor:
        change = functional.dropout(change, self.dropout, self.training)
        return x + change if self.residual else change


class GPT(nn.Module):
    """Logits of all labels at the last position, from ids and, if it is a vector, what is marked.

    It begins with the embeddings of the problem, where the task has a token for each.
    """

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        problem = setup.problem
        task = problem.part("task")
        dim, labels = problem.dim, task.number_of_labels(problem)
        self.embed = nn.Embedding(task.number_of_ids(problem), dim)
        self.places = nn.Embedding(problem.length + 2, dim) if problem["positions"] else None
        added = task.has_mark and trigger_of(problem) == "vector"
        self.trigger = nn.Parameter(torch.zeros(dim)) if added else None
        self.layers = nn.ModuleList(Layer(problem) for _ in range(problem["layers"]))
        self.norm = nn.LayerNorm(dim) if problem["layer_norm"] else nn.Identity()
        self.unembed = None if problem["tied"] else nn.Linear(dim, labels, bias=False)
        self.labels, self.dropout = labels, problem["dropout"]
        self._start(setup, task.has_mark)
        if problem["freeze_embeddings"]:
            for weights in (self.embed, self.places, self.unembed, self.trigger):
                if weights is not None:
                    weights.requires_grad_(False)

    def forward(
        self, input_ids: Int64[Tensor, "n T"], position: Int64[Tensor, " n"] | None = None
    ) -> Float[Tensor, "n labels"]:
        """The logits of the last position."""
        x = self.embed(input_ids)
        if position is not None and self.trigger is not None:
            place = torch.arange(input_ids.shape[1], device=x.device)
            x = x + (place == position[:, None])[:, :, None] * self.trigger
        if self.places is not None:
            x = x + self.places.weight[: input_ids.shape[1]]
        x = functional.dropout(x, self.dropout, self.training)
        for number, layer in enumerate(self.layers, start=1):
            x = layer(x, last=number == len(self.layers))
        read = self.norm(x[:, -1])
        if self.unembed is not None:
            logits: Tensor = self.unembed(read)
            return logits
        return functional.linear(read, self.embed.weight[: self.labels])

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the weights to a folder that the field `checkpoint` takes."""
        from safetensors.torch import save_file

        Path(folder).mkdir(parents=True, exist_ok=True)
        weights = {name: weight.contiguous() for name, weight in self.state_dict().items()}
        save_file(weights, Path(folder) / "model.safetensors")

    def _start(self, setup: Setup, has_mark: bool) -> None:
        """First weights: of standard deviation 1/√(inputs), smaller where many are added up."""
        if self.embed.weight.is_meta:  # to be counted
            return
        deep = (2 * len(self.layers)) ** -0.5
        instance = setup.instance
        with torch.no_grad():
            for name, weight in self.named_parameters():
                if weight.ndim == 2:
                    scale = deep if name.endswith(("out.weight", "down.weight")) else 1.0
                    weight.normal_(std=scale * weight.shape[1] ** -0.5)
                elif not name.endswith("weight"):
                    weight.zero_()
            if not has_mark:
                return
            tokens = instance.tokens
            self.embed.weight[: len(tokens)] = tokens
            if self.trigger is not None:
                self.trigger.copy_(instance.trigger)
            if trigger_of(setup.problem) != "marked-id":
                self.embed.weight[len(tokens)] = instance.trigger
            self.embed.weight[-1] = instance.end
            if self.unembed is not None:
                self.unembed.weight.copy_(instance.outputs)
