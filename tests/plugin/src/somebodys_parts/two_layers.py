"""A model of two stock layers over ids, with dropout, and one table for tokens and labels."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from recallscope import Model, Setup, problem_field

HEADS = 2


class TwoLayers(nn.Module):
    """Logits of every position, from the same table that embeds the ids."""

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        problem = setup.problem
        ids, dim = problem.vocab + 2, problem.dim
        layer = nn.TransformerEncoderLayer(
            dim, HEADS, 4 * dim, problem.dropout, batch_first=True, norm_first=True
        )
        self.embed = nn.Embedding(ids, dim)
        self.place = nn.Parameter(torch.randn(problem.length + 2, dim) / dim**0.5)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.unembed = nn.Linear(dim, ids, bias=False)
        self.unembed.weight = self.embed.weight
        self.to(setup.instance.tokens.dtype)

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.unembed(self.layers(self.embed(input_ids) + self.place))


@dataclass(frozen=True)
class TwoLayersModel(Model):
    reads_ids = True

    dropout: float = problem_field(0.1, low=0.0, high=0.9, help="The fraction that is dropped.")

    def build(self, setup: Setup) -> TwoLayers:
        return TwoLayers(setup)
