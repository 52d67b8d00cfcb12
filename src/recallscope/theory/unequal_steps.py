"""Three steps on facts of unequal frequency: draws of the attention vector, and what is read.

Frequent facts break what the closed forms rest on: labels do not cancel, and a frequent token is
marked, stored and met again and again. Given embeddings, attention depends on a training set only
by how often each fact was marked, and by the labels that each token met as a distractor. The first
are counts. The second are sums of many vectors, as good as Gaussian: so nothing is summed over
samples. docs/theory.md derives it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from recallscope.common.shapes import Float, Int64
from recallscope.problem.frequencies import cumulated

Rows = Float[np.ndarray, "V d"]
Shares = Float[np.ndarray, " V"]

_AT_ONCE = 2**24  # logits
_MOST_DRAWN = 2**21  # samples that miss the trigger; of more, the mean is as good


class UnequalFacts(NamedTuple):
    """Embeddings in the order of the facts, and how often each is marked and a distractor.

    `outputs` are those of the right labels, minus the mean of all.
    """

    tokens: Rows
    outputs: Rows
    trigger: Float[np.ndarray, " d"]
    marked: Shares
    others: Shares


class Steps(NamedTuple):
    """One training set: accuracies of each fact."""

    attention: Shares
    recall: Shares
    first_gradient: Shares


class _Attention(NamedTuple):
    """How often each fact was seen, the first gradient, and the attention vector."""

    seen: Shares
    first: Float[np.ndarray, "d d"]
    vector: Float[np.ndarray, " d"]


class _Ranks(NamedTuple):
    """Tokens by score: the chance that the highest distractor is at most of some rank."""

    order: Int64[np.ndarray, " V"]
    below: Float[np.ndarray, " V+1"]
    beaten: Int64[np.ndarray, " V"]  # tokens that a fact wins over, if it is marked


def three_steps(
    facts: UnequalFacts, samples: float, length: int, random: np.random.Generator
) -> Steps:
    """Return the accuracy of each fact after three steps on one training set."""
    first_steps = _attention(facts, samples, length, random)
    scores = facts.tokens @ first_steps.vector
    order = np.argsort(scores)
    below = np.concatenate([[0.0], cumulated(facts.others[order])]) ** (length - 1)
    bonus = facts.trigger @ first_steps.vector
    ranks = _Ranks(order, below, np.searchsorted(scores[order], scores + bonus, side="right"))
    attention = below[ranks.beaten]
    memory = _memory(facts, first_steps.seen, ranks, samples, random)
    return Steps(
        attention=attention,
        recall=_recall(_answers(facts, memory), ranks),
        first_gradient=(_answers(facts, first_steps.first) == np.arange(len(attention))).astype(
            float
        ),
    )


def _attention(
    facts: UnequalFacts, samples: float, length: int, random: np.random.Generator
) -> _Attention:
    """The first two steps. See eq:unequal-first and eq:unequal-attention."""
    N, L, V = samples, float(length), len(facts.marked)
    others, q = L - 1, facts.outputs
    seen = facts.marked
    if math.isfinite(N):
        seen = random.multinomial(int(N), facts.marked) / N
    mean = facts.others @ facts.tokens
    w = facts.tokens - mean
    spread = (w * facts.others[:, None]).T @ w
    imbalance = seen @ q

    def normal(covariance: Float[np.ndarray, "d d"], count: int) -> Float[np.ndarray, "n d"]:
        values, vectors = np.linalg.eigh(covariance)
        scale = np.sqrt(np.maximum(values, 0.0))
        return (random.standard_normal((count, len(scale))) * scale) @ vectors.T

    # The labels that each token met as a distractor, together as many as samples have.
    met = others * facts.others[:, None] * imbalance
    if math.isfinite(N):
        noise = normal((q * seen[:, None]).T @ q, V)
        noise *= np.sqrt(others * facts.others / N)[:, None]
        met = met + noise - facts.others[:, None] * noise.sum(axis=0)
    labels = met + seen[:, None] * q  # and as the marked token
    about = labels.T @ w
    first = about + L * np.outer(imbalance, mean)
    back = q @ first
    own = np.einsum("vd,vd->v", back, w)
    gained = seen @ own - (first * about).sum() / L
    pull = (1 - 1 / L) * np.einsum("vd,vd->v", labels @ first, w) @ w
    if math.isfinite(N):
        # Two tokens of one sample: what they do to its own gradient, and to that of all others.
        squares = seen * np.square(q).sum(axis=1)
        two = squares @ w
        pull = pull - others / (L * N) * (spread.trace() * two + spread @ two)
        along = np.einsum("vd,vd->v", back @ spread, back)
        crowd = others * ((L - 2) * (seen @ along) + seen @ own**2) / N
        pull = pull + math.sqrt(max(crowd, 0.0)) / L * normal(spread, 1)[0]
        single = np.sqrt(others * seen * along / N) / L
        pull = pull + (single * random.standard_normal(V)) @ w
    return _Attention(seen, first, gained * facts.trigger + pull)


def _memory(
    facts: UnequalFacts, seen: Shares, ranks: _Ranks, samples: float, random: np.random.Generator
) -> Float[np.ndarray, "d d"]:
    """The third gradient: facts at their tokens, or where attention went instead."""
    attention, q = ranks.below[ranks.beaten], facts.outputs
    if math.isinf(samples):
        kept = seen * attention
        elsewhere = _mean_elsewhere(facts, seen - kept, ranks)
    else:
        times = np.rint(seen * samples).astype(np.int64)
        hits = random.binomial(times, attention)
        kept, lost = hits / samples, times - hits
        if lost.sum() > _MOST_DRAWN:
            elsewhere = _mean_elsewhere(facts, lost / samples, ranks)
        else:
            elsewhere = _drawn_elsewhere(facts, lost, ranks, random) / samples
    return (q * kept[:, None]).T @ facts.tokens + elsewhere


def _mean_elsewhere(facts: UnequalFacts, lost: Shares, ranks: _Ranks) -> Float[np.ndarray, "d d"]:
    """Return what is stored at other tokens: each has a part of every marked one that it beats."""
    missed = 1 - ranks.below[ranks.beaten]
    share = np.divide(lost, missed, out=np.zeros_like(lost), where=missed > 0)
    sums = np.zeros((len(lost) + 1, facts.outputs.shape[1]))
    np.add.at(sums, ranks.beaten, facts.outputs * share[:, None])
    stored = np.cumsum(sums, axis=0)[:-1] * np.diff(ranks.below)[:, None]
    return stored.T @ facts.tokens[ranks.order]


def _drawn_elsewhere(
    facts: UnequalFacts, lost: Int64[np.ndarray, " V"], ranks: _Ranks, random: np.random.Generator
) -> Float[np.ndarray, "d d"]:
    """The same for so many samples of each fact, one by one."""
    fact = np.repeat(np.arange(len(lost)), lost)
    least = ranks.below[ranks.beaten[fact]]
    place = np.searchsorted(ranks.below, least + (1 - least) * random.random(len(fact)), "right")
    read = ranks.order[np.minimum(place, len(lost)) - 1]
    pairs, times = np.unique(fact * len(lost) + read, return_counts=True)
    stored = facts.tokens[pairs % len(lost)] * times[:, None]
    return facts.outputs[pairs // len(lost)].T @ stored


def _answers(facts: UnequalFacts, memory: Float[np.ndarray, "d d"]) -> Int64[np.ndarray, " V"]:
    """The fact whose label has the highest logit, for each token."""
    reads, V = facts.tokens @ memory.T, len(facts.tokens)
    labels = np.empty(V, dtype=np.int64)
    rows = max(_AT_ONCE // V, 1)
    for start in range(0, V, rows):
        part = slice(start, start + rows)
        labels[part] = (reads[part] @ facts.outputs.T).argmax(axis=1)
    return labels


def _recall(answers: Int64[np.ndarray, " V"], ranks: _Ranks) -> Shares:
    """Each fact at its own token, and wherever else its label is answered."""
    V = len(answers)
    right = np.where(answers == np.arange(V), ranks.below[ranks.beaten], 0.0)
    by_rank = answers[ranks.order]
    elsewhere = np.where(np.arange(V) >= ranks.beaten[by_rank], np.diff(ranks.below), 0.0)
    return right + np.bincount(by_rank, elsewhere, minlength=V)
