"""How often a memory on an embedding matrix answers right.

A memory is Σ w_y q_y zᵀ. Asked for a token, it gives every label the sum of all facts' overlaps
with it; which fact has which label is a random permutation. Overlaps of real tables are too uneven
for a Gaussian, so a few reads of each memory are worked out. The rivals' scores are taken as they
are. How often the right fact was seen decides, and follows Poisson's law.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import pdtr  # type: ignore[import-untyped]

from recallscope.common.shapes import Float, Int64
from recallscope.theory.table_moments import TableMoments

Shares = Float[np.ndarray, " V"]
Reads = Float[np.ndarray, " reads"]

_LARGE = 1e15


class Fact(NamedTuple):
    """The weight of the right facts of some reads: n·own + besides.

    n, how often a fact was seen, is Poisson of mean per_fact·share; in the population it is
    `share` itself.
    """

    own: Reads
    besides: Reads
    share: Reads
    per_fact: float


def attention_shares(
    table: TableMoments,
    vectors: Float[np.ndarray, "draws d"],
    trigger: Float[np.ndarray, " d"],
    length: int,
) -> tuple[Float[np.ndarray, "draws V"], Float[np.ndarray, "draws V"]]:
    """For each attention vector, how often each token is found if marked, and read if it is not.

    A token wins over L − 1 distractors as often as all of them score below it.
    """
    scores = vectors @ table.tokens.T
    order = np.argsort(scores, axis=1)
    attended, read = np.empty_like(scores), np.empty_like(scores)
    ranks = np.arange(table.vocab + 1) / table.vocab
    highest = np.diff(ranks ** (length - 1)) if length > 1 else np.zeros(table.vocab)
    for draw, mine in enumerate(scores):
        below = np.searchsorted(mine[order[draw]], mine + vectors[draw] @ trigger)
        attended[draw] = (below / table.vocab) ** (length - 1)
        read[draw, order[draw]] = highest
    return attended, read


def read_memory(
    table: TableMoments,
    per_fact: float,
    attended: Shares,
    read: Shares,
    reads: int,
    random: np.random.Generator,
) -> float:
    """Recall of the third step: the fraction of tests that find the trigger and are right.

    `attended` and `read` are how often tokens are read where they are marked, and where not.
    """
    total = float(attended.sum())
    if total < 1e-4 * len(attended):
        return 0.0
    # Tokens as often as tests with them find the trigger, spread evenly.
    places = (np.arange(reads) + random.random()) / reads * total
    tokens = np.minimum(np.searchsorted(np.cumsum(attended), places), len(attended) - 1)
    overlaps = (table.tokens + table.mean) @ (table.tokens[tokens] + table.mean).T
    stored = _seen(random, per_fact, attended, reads) * overlaps
    besides = np.zeros(reads)
    if attended.min() < 1:  # samples that were read elsewhere store their label there
        times = _seen(random, per_fact, 1 - attended, reads)
        share = read / max(read.sum(), 1e-300)
        mean = share @ overlaps
        spread = np.sqrt(np.maximum(share @ overlaps**2 - mean**2, 0.0))
        noise = 0.0 if math.isinf(per_fact) else np.sqrt(times) * spread
        elsewhere = times * mean + noise * random.standard_normal(overlaps.shape)
        stored, besides = stored + elsewhere, elsewhere[tokens, np.arange(reads)]
    fact = Fact(overlaps[tokens, np.arange(reads)], besides, attended[tokens], per_fact)
    return total / len(attended) * _right(table, stored, tokens, fact, random)


def read_gradient(
    table: TableMoments, per_fact: float, length: int, reads: int, random: np.random.Generator
) -> float:
    """Accuracy of the first gradient: every sample stores all of its tokens, one part in L each."""
    tokens = random.integers(table.vocab, size=reads)
    overlaps = (table.tokens + table.mean) @ (table.tokens[tokens] + table.mean).T
    times = _seen(random, per_fact, np.ones(table.vocab), reads)
    mean, spread = overlaps.mean(axis=0), overlaps.std(axis=0)
    distractors = (length - 1) * times
    stored = times * overlaps + distractors * mean
    besides = np.zeros(reads)
    if math.isfinite(per_fact):
        stored = stored + np.sqrt(distractors) * spread * random.standard_normal(overlaps.shape)
        besides = math.sqrt(per_fact * (length - 1)) * spread * random.standard_normal(reads)
    own = overlaps[tokens, np.arange(reads)] + (length - 1) * mean
    return _right(table, stored, tokens, Fact(own, besides, np.ones(reads), per_fact), random)


def _seen(
    random: np.random.Generator, per_fact: float, shares: Shares, reads: int
) -> Float[np.ndarray, "V reads"]:
    """How often some of each fact's samples were seen; in the population, their fraction."""
    every = np.broadcast_to(shares[:, None], (len(shares), reads))
    return every if math.isinf(per_fact) else random.poisson(per_fact * every).astype(float)


def _right(
    table: TableMoments,
    stored: Float[np.ndarray, "V reads"],
    tokens: Int64[np.ndarray, " reads"],
    fact: Fact,
    random: np.random.Generator,
) -> float:
    """How often the right label has the highest score.

    Its label q wins over q' if the right fact's weight times (q·q − q·q') is more than what all
    else gives q' beyond q. So the weight has to be between two numbers.
    """
    columns = np.arange(len(tokens))
    stored = stored.copy()
    stored[tokens, columns] = 0.0
    labels = np.argsort(random.random(stored.shape), axis=0)  # a permutation for each read
    label = labels[tokens, columns]
    by_label = np.empty_like(stored)
    np.put_along_axis(by_label, labels, stored, axis=0)
    scores = table.outputs @ (table.outputs.T @ by_label)
    ahead = scores - scores[label, columns]
    gain = table.output_squares[label] - table.outputs @ table.outputs[label].T
    gain[label, columns] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = ahead / gain
        ends = (
            (np.where(gain > 0, needed, -np.inf).max(axis=0) - fact.besides) / fact.own,
            (np.where(gain < 0, needed, np.inf).min(axis=0) - fact.besides) / fact.own,
        )
    # If a fact weighs less the more it was seen, the two are swapped. If the first is above the
    # second, no weight is enough, and that stays so.
    least, most = (np.where(fact.own > 0, *both) for both in (ends, ends[::-1]))
    if math.isinf(fact.per_fact):
        return float(np.mean((least < fact.share) & (most > fact.share)))
    rate = fact.per_fact * fact.share
    return float(np.maximum(_below(most, rate) - _up_to(least, rate), 0.0).mean())


def _up_to(end: Reads, rate: Reads) -> Reads:
    """How often a Poisson number is at most some number."""
    return np.where(end < 0, 0.0, pdtr(np.floor(np.clip(end, 0, _LARGE)), rate))


def _below(end: Reads, rate: Reads) -> Reads:
    """How often it is less than some number."""
    return np.where(end <= 0, 0.0, pdtr(np.ceil(np.clip(end, 0, _LARGE)) - 1, rate))
