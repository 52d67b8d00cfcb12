"""Testing what was learnt, on fresh samples and against what would be ideal."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from recallscope.learning import literal
from recallscope.learning.batch import Batch, Tile, tile_size
from recallscope.learning.memory import ideal_memory
from recallscope.learning.read import attend, features, key_scores
from recallscope.learning.three_step import Learned
from recallscope.learning.workers import Workers
from recallscope.world.world import World

if TYPE_CHECKING:
    from jaxtyping import Float, Int64

_ROWS_AT_ONCE = 256
_LABELS_AT_ONCE = 8192


def evaluate(world: World, learned: Learned, workers: Workers, test_samples: int) -> dict[str, Any]:
    """The numbers of a Record."""
    problem = world.problem
    test = Batch(
        draw=lambda start, stop: world.task.draw(start, stop, "test"),
        samples=test_samples,
        tile=tile_size(problem),
        workers=workers,
        device=world.tokens.device,
    )
    ideal = ideal_memory(world, workers)
    scores, bonus = key_scores(world, learned.alpha)
    unit = problem.vocab * problem.length**2 / (problem.width or 1) / (problem.eta or 1.0)
    return {
        "test_samples": test_samples,
        **_accuracies(world, learned, test),
        "score_signal": _finite(bonus.double() * unit),
        "score_noise": _finite(scores.double().std() * unit),
        "trigger_cosine": _cosine(learned.alpha, world.trigger),
        "first_value_cosine": _cosine(learned.V1, ideal),
        "second_value_cosine": _cosine(learned.V2, ideal),
    }


def _accuracies(world: World, learned: Learned, test: Batch) -> dict[str, float]:
    soft = world.problem.regime == "literal"
    scores, bonus = key_scores(world, learned.alpha)
    if soft:
        scores, bonus = literal.soft_scores(world, learned.alpha)
    else:
        answer_elsewhere = _answers_by_token(world, learned.V2, test, marked=False)
        answer_at_mark = answer_elsewhere
        if world.problem.trigger_in_values:
            answer_at_mark = _answers_by_token(world, learned.V2, test, marked=True)
    answer_after_one = _answers_by_token(world, learned.V1, test, marked=False)

    def hits(tile: Tile) -> Int64[Tensor, " 3"]:
        attended, locked = attend(scores, bonus, tile)
        asked = tile.tokens.gather(1, tile.position[:, None])[:, 0]
        if soft:
            answer = answers(world, learned.V2, literal.soft_read(world, scores, bonus, tile))
        else:
            answer = torch.where(locked, answer_at_mark(attended), answer_elsewhere(attended))
        right = [answer == tile.label, answer_after_one(asked) == tile.label]
        return torch.stack([locked.sum(), *(hit.sum() for hit in right)])

    lock, recall, one_step = test.mean(hits).tolist()
    return {"lock_accuracy": lock, "recall_accuracy": recall, "one_step_accuracy": one_step}


def _answers_by_token(
    world: World, V: Float[Tensor, "d m"], test: Batch, *, marked: bool
) -> Callable[[Int64[Tensor, " n"]], Int64[Tensor, " n"]]:
    """The answer at each token; all tokens are asked once if there are fewer of them than tests."""
    extra = world.trigger_value if marked else torch.zeros_like(world.trigger)

    def ask(tokens: Int64[Tensor, " n"]) -> Int64[Tensor, " n"]:
        return answers(world, V, world.tokens[tokens] + extra)

    if test.samples < world.problem.vocab:
        return ask
    everything = torch.arange(world.problem.vocab, device=world.tokens.device)
    table = torch.cat(list(test.workers.map(ask, torch.split(everything, _ROWS_AT_ONCE))))
    return table.__getitem__


def answers(
    world: World, V: Float[Tensor, "d m"], reads: Float[Tensor, "n d"]
) -> Int64[Tensor, " n"]:
    """The label of the highest logit U V φ(W_in read), the first of equals, for each read."""
    return torch.cat(
        [_answers_of_rows(world, V, rows) for rows in torch.split(reads, _ROWS_AT_ONCE)]
    )


def _answers_of_rows(
    world: World, V: Float[Tensor, "d m"], reads: Float[Tensor, "n d"]
) -> Int64[Tensor, " n"]:
    hidden = features(world, reads) @ V.T
    top = hidden.new_full((len(reads),), -math.inf)
    answer = torch.zeros(len(reads), dtype=torch.int64, device=reads.device)
    for start in range(0, world.problem.vocab, _LABELS_AT_ONCE):
        logits = hidden @ world.centred_outputs[start : start + _LABELS_AT_ONCE].T
        highest, label = logits.max(dim=1)
        answer = torch.where(highest > top, label + start, answer)
        top = torch.maximum(top, highest)
    return answer


def _cosine(a: Tensor, b: Tensor) -> float | None:
    a, b = a.double(), b.double()
    return _finite((a * b).sum() / (a.norm() * b.norm()))


def _finite(value: Tensor) -> float | None:
    """A number, or None where there is none: a cosine with nought, the spread of one token."""
    number = value.item()
    return number if math.isfinite(number) else None
