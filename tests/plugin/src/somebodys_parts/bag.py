"""A model that reads ids, as language models do: the token after the trigger, and a matrix."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from recallscope import Model, Setup


class Bag(nn.Module):
    """Logits at the end of the sequence only, from the embedding of the marked token."""

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        instance = setup.instance
        self.vocab = instance.problem.vocab
        self.register_buffer("tokens", instance.tokens)
        zeros = instance.tokens.new_zeros(self.vocab + 2, instance.problem.dim)
        self.readout = nn.Parameter(zeros)

    def forward(self, input_ids: Tensor) -> Tensor:
        trigger = (input_ids == self.vocab).long().argmax(dim=1)
        marked = input_ids.gather(1, trigger[:, None] + 1)[:, 0]
        return (self.tokens[marked] @ self.readout.T)[:, None]


@dataclass(frozen=True)
class BagModel(Model):
    reads_ids = True

    def build(self, setup: Setup) -> Bag:
        return Bag(setup)
