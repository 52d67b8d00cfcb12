"""Sequences as language models read them: the mark is a token of its own, and so is the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from recallscope.common.shapes import Float, Int64
from recallscope.models.arrays import Numbers, Tokens
from recallscope.models.noise import seeded
from recallscope.parts.naming import find_part
from recallscope.problem import Problem, ProblemError
from recallscope.tasks.kind import inputs_of

if TYPE_CHECKING:
    from recallscope.learning.learner import Setup


def input_ids(tokens: Tokens, position: Numbers, vocab: int) -> Int64[Tensor, "n L+2"]:
    """Tokens, with the trigger (id `vocab`) before the marked one and `vocab + 1` at the end.

    >>> input_ids(torch.tensor([[5, 6, 7]]), torch.tensor([1]), vocab=10)
    tensor([[ 5, 10,  6,  7, 11]])
    """
    count, length = tokens.shape
    place = torch.arange(length, device=tokens.device).expand(count, length)
    after = (place >= position[:, None]).long()
    ids = torch.full((count, length + 2), vocab, dtype=torch.int64, device=tokens.device)
    ids.scatter_(1, place + after, tokens)
    ids[:, -1] = vocab + 1
    return ids


class ReadsIds(nn.Module):
    """A map from `input_ids` to logits, called as all models are here: tokens and position."""

    def __init__(self, model: nn.Module, problem: Problem) -> None:
        super().__init__()
        task = find_part("task", problem.task)
        self.model, self.inputs = model, inputs_of(problem) if task.has_mark else None
        self.labels = task.labels(problem)

    def forward(self, tokens: Tokens, position: Numbers) -> Float[Tensor, "n V"]:
        """The logits of every label, at the end of the sequence."""
        if self.inputs is not None:
            tokens = input_ids(tokens, position, self.inputs)
        found: Any = self.model(tokens)
        logits: Tensor = getattr(found, "logits", found)
        if logits.ndim == 3:
            logits = logits[:, -1]
        if logits.ndim != 2 or logits.shape[1] < self.labels:
            raise ProblemError(
                f"a model gives logits of at least {self.labels} labels for each sample, "
                f"not {tuple(logits.shape)}"
            )
        return logits[:, : self.labels]


def model_of(setup: Setup) -> nn.Module:
    """The model of a problem, as a module from tokens and positions to logits.

    First weights that torch draws by itself come from the seed.
    """
    kind = find_part("model", setup.problem.model)
    with seeded(setup.seed, 0, torch.device(setup.device)):
        built: nn.Module = kind.build(setup)
    return ReadsIds(built, setup.problem) if kind.reads_ids else built
