"""Testing what was learnt, on fresh samples and against what would be ideal."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from recallscope.common.shapes import Float, Int64
from recallscope.model.arrays import Flags, Memory, Numbers, Rows, Tokens
from recallscope.model.instance import Instance
from recallscope.three_step.batch import Batch, Tile
from recallscope.three_step.finite_steps import soft_read, soft_scores
from recallscope.three_step.memory import ideal_memory
from recallscope.three_step.ops import attend, features, key_scores, token_read
from recallscope.three_step.threads import Threads
from recallscope.three_step.three_step import Learned, fresh_batch

_ROWS_AT_ONCE = 256
_LABELS_AT_ONCE = 2048


def evaluate(
    instance: Instance, learned: Learned, threads: Threads, test_samples: int
) -> dict[str, Any]:
    """The numbers of a Record."""
    problem = instance.problem
    test = fresh_batch(instance, threads, test_samples)
    ideal = ideal_memory(instance, threads)
    scores, bonus = key_scores(instance, learned.alpha)
    unit = problem.vocab * problem.length**2 / (problem.width or 1) / (problem.eta or 1.0)
    return {
        "test_samples": test_samples,
        **_accuracies(instance, learned, test),
        "score_signal": (bonus.double() * unit).item(),
        "score_noise": (scores.double().std() * unit).item(),
        "trigger_cosine": _cosine(learned.alpha, instance.trigger),
        "first_value_cosine": _cosine(learned.V1, ideal),
        "second_value_cosine": _cosine(learned.V2, ideal),
    }


def _accuracies(instance: Instance, learned: Learned, test: Batch) -> dict[str, float]:
    soft = instance.problem.regime == "literal"
    scores, bonus = (soft_scores if soft else key_scores)(instance, learned.alpha)
    after_three = None if soft else _answers_by_token(instance, learned.V2, test)
    after_one = _answers_by_token(instance, learned.V1, test)

    def hits(tile: Tile) -> Int64[Tensor, " 3"]:
        attended, at_marked = attend(scores, bonus, tile)
        if after_three is None:
            answer = answers(instance, learned.V2, soft_read(instance, scores, bonus, tile))
        else:
            answer = after_three(attended, at_marked)
        marked = tile.tokens.gather(1, tile.position[:, None])[:, 0]
        guess = after_one(marked, torch.zeros_like(at_marked))
        right = [answer == tile.label, guess == tile.label]
        return torch.stack([at_marked.sum(), *(hit.sum() for hit in right)])

    attention, recall, first_gradient = test.mean(hits).tolist()
    return {
        "attention_accuracy": attention,
        "recall_accuracy": recall,
        "first_gradient_accuracy": first_gradient,
    }


def _answers_by_token(
    instance: Instance, V: Memory, test: Batch
) -> Callable[[Numbers, Flags], Numbers]:
    """The answer when a token is read, marked or not.

    If there are fewer tokens than tests, all of them are asked once and the answers kept.
    """
    vocab = instance.problem.vocab

    def ask(tokens: Numbers, marked: Flags) -> Numbers:
        return answers(instance, V, token_read(instance, tokens, marked))

    if test.samples < vocab:
        return ask
    every = torch.arange(vocab, device=instance.tokens.device)
    kinds = (False, True) if instance.problem.trigger_in_values else (False,)

    def ask_block(block: tuple[bool, Tensor]) -> Numbers:
        marked, tokens = block
        return ask(tokens, torch.full_like(tokens, marked, dtype=torch.bool))

    blocks = [(marked, part) for marked in kinds for part in torch.split(every, _ROWS_AT_ONCE)]
    table = torch.cat(list(test.threads.map(ask_block, blocks))).view(len(kinds), vocab)
    return lambda tokens, marked: table[marked.long() % len(kinds), tokens]


def answers(instance: Instance, V: Memory, reads: Rows) -> Numbers:
    """The label of the highest logit U V φ(W_in read), the first of equals, for each read."""
    return torch.cat(
        [_answers_of_rows(instance, V, rows) for rows in torch.split(reads, _ROWS_AT_ONCE)]
    )


def _answers_of_rows(instance: Instance, V: Memory, reads: Rows) -> Numbers:
    hidden = features(instance, reads) @ V.T
    top = hidden.new_full((len(reads),), -math.inf)
    answer = torch.zeros(len(reads), dtype=torch.int64, device=reads.device)
    for start in range(0, instance.problem.vocab, _LABELS_AT_ONCE):
        logits = hidden @ instance.centred_outputs[start : start + _LABELS_AT_ONCE].T
        highest, label = logits.max(dim=1)
        answer = torch.where(highest > top, label + start, answer)
        top = torch.maximum(top, highest)
    return answer


def logits_of(
    instance: Instance, learned: Learned
) -> Callable[[Tokens, Numbers], Float[Tensor, "n V"]]:
    """The model with these weights: from tokens and marked positions to the logits of labels."""
    soft = instance.problem.regime == "literal"

    def logits(tokens: Tokens, position: Numbers) -> Float[Tensor, "n V"]:
        scores, bonus = (soft_scores if soft else key_scores)(instance, learned.alpha)
        tile = Tile(tokens, position, torch.zeros_like(position))
        if soft:
            read = soft_read(instance, scores, bonus, tile)
        else:
            read = token_read(instance, *attend(scores, bonus, tile))
        return features(instance, read) @ learned.V2.T @ instance.centred_outputs.T

    return logits


def _cosine(a: Tensor, b: Tensor) -> float | None:
    """The cosine of the angle between two arrays, or None if one of them is zero."""
    a, b = a.double(), b.double()
    number = ((a * b).sum() / (a.norm() * b.norm())).item()
    return number if math.isfinite(number) else None
