"""Recall of facts by one forward pass with the given answer as input.

A model that decodes greedily gives the answer exactly if every token of it has the largest logit
where it stands. So nothing is generated.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from recallscope.task.examples import IGNORED
from recallscope.teaching.tokens import Batch, Tokens, batch_of

_TOKENS = 4096  # of a batch, with those that fill it up
_LOGITS = 2**26  # of a batch


@dataclass(frozen=True)
class Recalled:
    """For each fact asked for: whether it is recalled, and its loss.

    The loss is in nats for each token of the answer.
    """

    right: Any
    loss: Any


@contextmanager
def undisturbed(model: torch.nn.Module) -> Iterator[None]:
    """Within, no dropout and no gradients; modes and the random state are as before afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    device = next(model.parameters()).device
    devices = [device] if device.type == "cuda" else []
    # inference_mode would leave tensors in caches of modules that no training can use.
    with torch.random.fork_rng(devices), torch.no_grad():
        model.eval()
        try:
            yield
        finally:
            for module, training in modes:
                module.training = training


def recall(model: torch.nn.Module, tokens: Tokens, facts: Any = None) -> Recalled:
    """Whether a model recalls each of some facts, or of all.

    Args:
        model: a causal language model of transformers, or of peft around one.
        tokens: the facts.
        facts: their numbers from 0; all if not given.
    """
    which = np.arange(len(tokens.facts)) if facts is None else np.asarray(facts)
    right, loss = np.zeros(len(which), dtype=bool), np.zeros(len(which))
    with undisturbed(model):
        for places in _by_length(model, tokens, which):
            rows = [tokens.ids(which[place]) for place in places]
            answers = [int(tokens.answers[which[place]]) for place in places]
            batch = batch_of(rows, answers)
            logits, labels = logits_of(model, batch)
            row = (batch.labels != IGNORED).nonzero()[:, 0].numpy()
            wrong = (logits.argmax(dim=-1) != labels).cpu().numpy()
            each = functional.cross_entropy(logits, labels, reduction="none").double()
            right[places] = np.bincount(row, wrong, len(places)) == 0
            loss[places] = np.bincount(row, each.cpu().numpy(), len(places)) / answers
    return Recalled(right, loss)


def perplexity(model: torch.nn.Module, texts: list[list[int]]) -> float:
    """The perplexity of texts as tokens, all of them predicted but the first of each."""
    total, predicted = 0.0, 0
    with undisturbed(model):
        for text in texts:
            logits, labels = logits_of(model, batch_of([text], [len(text) - 1]))
            total += float(functional.cross_entropy(logits, labels, reduction="sum"))
            predicted += len(text) - 1
    return float(np.exp(min(total / max(predicted, 1), 700.0)))


def logits_of(model: torch.nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits in float32 for each label, and the labels, row by row, on the device of the model."""
    device = next(model.parameters()).device
    ids, positions, labels = (
        each.to(device) for each in (batch.ids, batch.positions, batch.labels)
    )
    if takes_positions(model):
        logits = model(input_ids=ids, logits_to_keep=positions, use_cache=False).logits
    else:
        logits = model(input_ids=ids, use_cache=False).logits[:, positions]
    asked = labels != IGNORED
    return logits[asked].float(), labels[asked]


def takes_positions(model: Any) -> bool:
    """Whether a model computes logits only where it is asked to."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return "logits_to_keep" in inspect.signature(inner.forward).parameters


def _by_length(model: Any, tokens: Tokens, which: Any) -> Iterator[Any]:
    """Places of facts for each batch, those of about one length together."""
    lengths, answers = tokens.lengths[which], tokens.answers[which]
    order = np.lexsort((answers, lengths))
    vocab = model.config.get_text_config().vocab_size
    start = 0
    while start < len(order):
        stop, earliest = start, int(lengths[order[start]])
        while stop < len(order):
            width = int(lengths[order[stop]])
            earliest = min(earliest, width - int(answers[order[stop]]))
            rows, kept = stop + 1 - start, width - earliest
            if stop > start and (rows * width > _TOKENS or rows * kept * vocab > _LOGITS):
                break
            stop += 1
        yield order[start:stop]
        start = stop
