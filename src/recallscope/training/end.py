"""The end of training where attention is given: the best value matrix for what it reads."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from recallscope.common.blocks import blocks
from recallscope.common.shapes import Bool, Float, Int64
from recallscope.model.learner import Outcome
from recallscope.model.setup import Setup
from recallscope.problem.facts import facts_of
from recallscope.three_step.batch import Tile
from recallscope.three_step.ops import attend, features, key_scores, token_read
from recallscope.three_step.threads import Threads
from recallscope.three_step.three_step import early_attention
from recallscope.training.convex import minimum
from recallscope.training.loop import Training
from recallscope.training.model import TrainedTransformer

Attend = Callable[[Tile], tuple[Int64[Tensor, " n"], Bool[Tensor, " n"]]]
"""The token that attention picks in each sample, and whether that is the marked one."""
Read = Callable[[Tile], Float[Tensor, "n d"]]

_SAMPLES_AT_ONCE = 2**16


class _Stored(NamedTuple):
    """The items that the value matrix is to store, and how often each occurs."""

    reads: Float[Tensor, "n d"]
    label: Int64[Tensor, " n"]
    times: Float[Tensor, " n"]


def end_of_training(setup: Setup) -> Outcome:
    """The minimum of the loss over the value matrix, with its certificate."""
    instance, attention = setup.instance, setup.problem["attention"]
    with Threads():
        read, stored = (_soft_attention_reads if attention == "adam" else _hard_attention_reads)(
            setup
        )
        outputs = instance.centred_outputs
        best = minimum(features(instance, stored.reads), stored.label, stored.times, outputs)

    def logits(tokens: Tensor, position: Tensor) -> Tensor:
        reads = read(Tile(tokens, position, position))
        return features(instance, reads) @ best.V.T @ outputs.T

    metrics = {
        "certified": best.certified,
        "separable": best.separable,
        "slope": best.slope,
        "final_loss": best.loss,
        "looks": best.looks,
    }
    return Outcome(logits=logits, metrics={name: float(value) for name, value in metrics.items()})


def _hard_attention_reads(setup: Setup) -> tuple[Read, _Stored]:
    """Attention to one token of each sample: what is read is one of few vectors, often."""
    instance = setup.instance
    attended: Attend = _at_the_mark
    if setup.problem["attention"] == "three-step":
        scores, bonus = key_scores(instance, early_attention(instance))
        attended = lambda tile: attend(scores, bonus, tile)  # noqa: E731

    def kinds(tile: Tile) -> Int64[Tensor, " n"]:
        tokens, marked = attended(tile)
        return (tokens * 2 + marked) * instance.problem.vocab + tile.label

    if math.isinf(setup.problem.samples):  # every fact, as often as the task says
        token = torch.arange(facts_of(instance.problem), device=setup.device)
        labels = instance.labels[token % instance.problem.vocab]
        kind = (2 * token + 1) * instance.problem.vocab + labels
        times = torch.ones_like(kind)
        if instance.frequencies is not None:
            times = instance.frequencies * len(kind)
    else:
        kind, times = _counted(setup, kinds)
    token_marked, label = kind // instance.problem.vocab, kind % instance.problem.vocab
    reads = token_read(instance, token_marked // 2, token_marked % 2 == 1)
    stored = _Stored(reads, label, times.to(reads.dtype))
    return lambda tile: token_read(instance, *attended(tile)), stored


def _at_the_mark(tile: Tile) -> tuple[Int64[Tensor, " n"], Bool[Tensor, " n"]]:
    tokens = tile.tokens.gather(1, tile.position[:, None])[:, 0]
    return tokens, torch.ones_like(tokens, dtype=torch.bool)


def _counted(
    setup: Setup, kinds: Callable[[Tile], Int64[Tensor, " n"]]
) -> tuple[Int64[Tensor, " k"], Int64[Tensor, " k"]]:
    """The kinds of samples that there are, and how many of each."""
    kinds_there = torch.zeros(0, dtype=torch.int64, device=setup.device)
    times = kinds_there.clone()
    for rows in blocks(int(setup.problem.samples), _SAMPLES_AT_ONCE):
        new = kinds(Tile(*setup.samples(rows.start, rows.stop)))
        kinds_there, place = torch.cat([kinds_there, new]).unique(return_inverse=True)  # type: ignore[no-untyped-call]
        weights = torch.cat([times, torch.ones_like(new)])
        times = torch.zeros_like(kinds_there).scatter_add_(0, place, weights)
    return kinds_there, times


def _soft_attention_reads(setup: Setup) -> tuple[Read, _Stored]:
    """Attention as Adam leaves it, which reads another mixture in every sample."""
    problem = setup.problem.replace(learner="adam")
    adam = problem.part("learner")
    again = dataclasses.replace(setup, problem=problem)
    training = Training([again], adam.optimiser, adam.usual_rate(problem))
    (outcome,) = training.run()
    if isinstance(outcome, OverflowError):
        raise outcome
    model = training.trainee.module
    assert isinstance(model, TrainedTransformer)

    def read(tile: Tile) -> Float[Tensor, "n d"]:
        with torch.no_grad():
            return model.read(tile.tokens[None], tile.position[None])[0]

    tile = Tile(*setup.samples(0, int(problem.samples)))
    reads = read(tile)
    return read, _Stored(reads, tile.label, torch.ones(len(reads), dtype=reads.dtype))
