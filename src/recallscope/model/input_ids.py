"""Sequences as language models read them: the trigger is a separate token, and so is the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from recallscope.common.errors import ProblemError
from recallscope.common.shapes import Float, Int64
from recallscope.model.arrays import Numbers, Tokens
from recallscope.problem.facts import inputs_of
from recallscope.problem.problem import Problem

if TYPE_CHECKING:
    pass


def input_ids(
    tokens: Tokens, position: Numbers, vocab: int, trigger: str = "token"
) -> Int64[Tensor, "n T"]:
    """Tokens, with the trigger (id `vocab`) before the marked one and `vocab + 1` at the end.

    A trigger that is a vector is in no id. A marked id is `vocab` higher, and the end `2 * vocab`.

    >>> tokens, position = torch.tensor([[5, 6, 7]]), torch.tensor([1])
    >>> input_ids(tokens, position, vocab=10)
    tensor([[ 5, 10,  6,  7, 11]])
    >>> input_ids(tokens, position, vocab=10, trigger="marked-id")
    tensor([[ 5, 16,  7, 20]])
    >>> input_ids(tokens, position, vocab=10, trigger="vector")
    tensor([[ 5,  6,  7, 11]])
    """
    count, length = tokens.shape
    if trigger != "token":
        marked = trigger == "marked-id"
        ids = functional.pad(tokens, (0, 1), value=2 * vocab if marked else vocab + 1)
        if marked:
            ids.scatter_add_(1, position[:, None], torch.full_like(position[:, None], vocab))
        return ids
    place = torch.arange(length, device=tokens.device).expand(count, length)
    after = (place >= position[:, None]).long()
    ids = torch.full((count, length + 2), vocab, dtype=torch.int64, device=tokens.device)
    ids.scatter_(1, place + after, tokens)
    ids[:, -1] = vocab + 1
    return ids


def trigger_of(problem: Problem) -> str:
    """Return what marks a token for a model that reads ids: as the task says, or as the model can.

    >>> trigger_of(Problem(vocab=8, samples=1, dim=4, length=2, learner="adam", model="gpt"))
    'vector'
    """
    trigger = getattr(problem, "trigger", "auto")
    if trigger != "auto":
        return str(trigger)
    return "vector" if problem.part("model").takes_mark else "token"


class ReadsIds(nn.Module):
    """A map from `input_ids` to logits, called as all models are here: tokens and position.

    A problem with `bf16` has its matrix products in that format; weights stay as they are.
    """

    def __init__(self, model: nn.Module, problem: Problem) -> None:
        super().__init__()
        task = problem.part("task")
        self.model, self.inputs = model, inputs_of(problem) if task.has_mark else None
        self.labels, self.trigger = task.number_of_labels(problem), trigger_of(problem)
        self.bf16 = getattr(problem, "bf16", False)

    def forward(self, tokens: Tokens, position: Numbers) -> Float[Tensor, "n V"]:
        """The logits of every label, at the end of the sequence."""
        inputs: tuple[Tensor, ...] = (tokens,)
        if self.inputs is not None:
            ids = input_ids(tokens, position, self.inputs, self.trigger)
            inputs = (ids, position) if self.trigger == "vector" else (ids,)
        with torch.autocast(tokens.device.type, torch.bfloat16, enabled=self.bf16):
            output: Any = self.model(*inputs)
        logits: Tensor = getattr(output, "logits", output)
        if logits.ndim == 3:
            logits = logits[:, -1]
        if logits.ndim != 2 or logits.shape[1] < self.labels:
            raise ProblemError(
                f"a model gives logits of at least {self.labels} labels for each sample, "
                f"not {tuple(logits.shape)}"
            )
        logits = logits[:, : self.labels]
        return logits.float() if self.bf16 else logits
