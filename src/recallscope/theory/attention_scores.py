"""The second step: what attention adds to the trigger's score, and the noise on all scores.

Scores are in units of the signal that an ideal first step would give the trigger, 1/(V L²), as in a
`Record`. Each function gives two variances: of the score over the tokens, and of the trigger's
score over instances. Each is an equation as a function; docs/derivation.md derives it under
the label given here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from recallscope.theory.problem_arrays import Array, ProblemArrays
from recallscope.theory.readout import Means, positive


class Spread(NamedTuple):
    """Variances of an attention score: over the tokens, and of the trigger's over instances."""

    tokens: Array
    trigger: Array


class Crowd(NamedTuple):
    """Moments of the spectrum of the tokens' overlaps, by Marchenko and Pastur.

    See eq:overlap-moments.
    """

    second: Array
    third: Array
    fourth: Array


def crowd(vocab: Any, dim: Any) -> Crowd:
    """tr K^j / V for the matrix K of overlaps of V random tokens in d dimensions, j = 2, 3, 4.

    >>> crowd(512, 64)
    Crowd(second=np.float64(9.0), third=np.float64(89.0), fourth=np.float64(945.0))
    """
    V, d = positive(vocab=vocab, dim=dim)
    c = V / d
    return Crowd(1 + c, 1 + 3 * c + c**2, 1 + 6 * c + 6 * c**2 + c**3)


def memorisation(vocab: Any, samples: Any, dim: Any, length: Any, gain: Any = 1.0) -> Array:
    """The signal a trigger in the values adds: each sample remembers its own. See eq:memorisation.

    (1 - 1/L) (V/N) (1 + (L - 1)/d). It helps attention, and vanishes with the batch.

    >>> memorisation(512, 2048, 64, 64).round(4)
    np.float64(0.4883)
    """
    V, N, d, L = positive(vocab=vocab, samples=samples, dim=dim, length=length)
    return gain * (1 - 1 / L) * V / N * (1 + (L - 1) / d)


def cross_talk(signal: Any, dim: Any) -> Array:
    """A token overlaps the trigger by 1/√d and takes that fraction of its score. See eq:cross-talk.

    >>> cross_talk(1.0, 64)
    np.float64(0.015625)
    """
    (d,) = positive(dim=dim)
    return np.square(signal) / d


def _fluctuating(length: Array, lengths: Any) -> Array:
    """How many of L overlaps with the mean of a sequence fluctuate; all, if lengths do too."""
    return np.where(lengths, length, np.maximum(length - 2, 0))


def mean_bias(
    vocab: Any, samples: Any, dim: Any, length: Any, gain: Any = 1.0, lengths: Any = False
) -> Spread:
    """The mean token, which every sample pulls attention towards. See eq:score-bias.

    About (√V L² / (N d^(3/2)))² over the tokens. `gain` is 1 for attention alone.

    >>> mean_bias(512, 2048, 64, 64).tokens.round(5)
    np.float64(0.00988)
    """
    V, N, d, L = positive(vocab=vocab, samples=samples, dim=dim, length=length)
    c = V / d
    pull = np.square(gain * (L - 1) * _fluctuating(L, lengths) / (N * V))
    # The variance of (K² - K) 1 over the tokens, and its square along a random direction.
    return Spread(pull * (c + 3 * c**2 + c**3), pull * c**2 * (1 + c))


def gradient_noise(
    vocab: Any,
    samples: Any,
    dim: Any,
    length: Any,
    drift: Any = 1.0,
    direct: Any = 1.0,
    scatter: Any = 0.0,
    own: Any = 1.0,
    lengths: Any = False,
) -> Spread:
    """Return the noise of labels and distractors that met by chance.

    See eq:score-labels to eq:score-marked.

    About (V L^(3/2) / (N d²))² + (V L / (N d^(3/2)))² + V L / (N d³) + L² V / (N d⁴) over the
    tokens; over instances the trigger also meets V L / (N d²). The gains of an MLP are `drift` of
    the mean gradient and `direct` of a token's own, both 1 for attention alone. The square of what
    else one sample's gradient has is `scatter`, 0 then.

    >>> noise = gradient_noise(512, 2048, 64, 64)
    >>> noise.tokens.round(5), noise.trigger.round(5)
    (np.float64(0.00399), np.float64(0.00942))
    """
    V, N, d, L = positive(vocab=vocab, samples=samples, dim=dim, length=length)
    overlaps, c, keep, others = crowd(V, d), V / d, 1 - 1 / L, L - 1
    drift, direct, own = np.square(drift), np.square(direct), np.square(own)
    imbalance = drift * others**2 * (1 + c) / (N * V**2)
    imbalance = imbalance * ((1 + V / N) / V + others / N)
    sample = direct * keep * others * (c + 2) / d * (1 + c) / (N * V)
    sample = sample + drift * others**3 * (1 + c) ** 3 / (N * V) ** 2
    # Two samples with a token in common are both pulled towards it, whatever their labels.
    sample = sample + (direct + scatter) * L * others * (1 + c) ** 2 * (2 + c) / (N**2 * V)
    # A sample is pulled towards those of its tokens that overlap the others most, or are repeated.
    apart = others * _fluctuating(L, lengths) * V / N**3
    sample = sample + own * apart * (2 + c) * (1 + c) / V
    drifting = own * apart * others / V**2
    # What is longer than others is so in every sample.
    sample = sample + np.where(lengths, own * (others / N) ** 2 * 2 / d * (1 + c), 0)
    # And with the marked token, if it is the same in two samples.
    sample = sample + keep**2 * direct * (2 + 4 * N / V) * (1 + c) / N**2
    # Two samples' tokens overlap: a marked one with a distractor, or two distractors.
    met = others * (1 - 2 / L) ** 2 * (1 + V / N) / N + 2 * keep**2 * V / N**2
    met = direct * met * (V / d**2 + 2 / d) + direct * (keep * others / d) ** 2 / N
    met = met + keep**2 * scatter * L * (V / (N * d)) ** 2
    return Spread(
        (imbalance + drifting) * overlaps.fourth + sample,
        (imbalance + drifting) * overlaps.third * c
        + sample * c / (1 + c)
        + met
        + own * apart * V / L * (1 / d + 1 / V),
    )


def mlp_noise(
    vocab: Any,
    samples: Any,
    dim: Any,
    length: Any,
    width: Any,
    pull: Any,
    scatter: Any,
) -> Spread:
    """Return the noise that a finite number m of random units adds. See eq:score-mlp.

    `pull` is the gain with which the mean of the hidden weights enters every gradient, `scatter`
    that of the noise of one unit. In addition the other noises grow by 1 + d/m.

    >>> mlp_noise(512, 2048, 64, 64, 256, pull=0.05, scatter=0.25).tokens.round(5)
    np.float64(0.00857)
    """
    V, N, d, L, w = positive(vocab=vocab, samples=samples, dim=dim, length=length, width=width)
    overlaps, c, keep, others = crowd(V, d), V / d, 1 - 1 / L, L - 1
    drawn = np.square(keep * others * L * pull / N) / w
    single = scatter * L * np.minimum(d, V) / w
    sample = single * keep * others**2 * (1 + c) ** 3 / (N**2 * V)
    return Spread(
        drawn * overlaps.third + sample,
        drawn * c * overlaps.second
        + sample * c / (1 + c)
        + keep**2 * single * L * (V / (N * d)) ** 2,
    )


class AttentionScores(NamedTuple):
    """The second step: signal, noise by name, and what the trigger's score does over instances."""

    signal: Array
    remembered: Array  # the part of the signal that is memorisation
    terms: dict[str, Array]  # variances over the tokens, cross-talk apart
    trigger_variance: Array  # of the trigger's score, at a given number of `pairs`
    pairs: Array  # of samples with the same label, on average; their number is Poisson
    pair_score: Array  # what one such pair more adds to the trigger's score
    third: Array  # cumulants of the score over the tokens
    fourth: Array


def score_variance(scores: AttentionScores) -> Array:
    """The variance of the trigger's score over instances."""
    return scores.trigger_variance + scores.pair_score**2 * scores.pairs


class Gains(NamedTuple):
    """How an MLP changes the terms of attention alone, for which all are 1 or 0. See eq:gains."""

    signal: Array
    drift: Array
    direct: Array
    scatter: Array
    bias: Array  # per N, of a sample with itself and with samples of its label
    pull: Array
    single: Array
    curvature: Array
    own: Array  # of a sample with itself


def gains(s: ProblemArrays, h: Means) -> Gains:
    """The kernel's derivatives at the overlaps that the means of sequences have."""
    a, moments = h.moments.coefficients, h.moments
    base = h.shared / h.square
    together = (h.shared + 1 / s.length**2) / h.square
    j = np.arange(a.shape[-1] - 2)

    def series(weights: Array, overlap: Array) -> Array:
        return (weights * overlap[..., None] ** j).sum(axis=-1)

    by_other = (j + 1) * a[..., 1:-1] ** 2 / h.square[..., None]
    by_own = np.sqrt((j + 1) * (j + 2)) * a[..., 2:] * a[..., :-2] / h.square[..., None]
    by_unit = np.sqrt(j + 1) * a[..., 1:-1] * a[..., :-2] / np.sqrt(h.square)[..., None]
    direct, own = series(by_other, base), series(by_own, base)
    signal = series(by_other, together)
    same_label = signal - direct + series(by_own, together) - own
    curvature = 2 * a[..., 2] ** 2 / h.square**2
    return Gains(
        signal=signal,
        drift=direct + own,
        direct=direct,
        scatter=own**2 + (curvature / s.length) ** 2 / s.effective_dim,
        bias=moments.square_slope + s.per_token * same_label,
        pull=moments.value_times_slope
        + s.per_token * (series(by_unit, together) - series(by_unit, base)),
        single=np.maximum(moments.slope_square * moments.square - direct**2 / s.length, 0),
        curvature=curvature,
        own=moments.square_slope,
    )


def _tokens_cumulant(s: ProblemArrays, g: Gains, order: int) -> Array:
    """Return the skew of tokens twice in a sample, or marked in two: most are neither.

    See eq:score-skew.

    E (m (m - 1) / 2)^order is μ²/2 (1 + 8μ + …) for order 3 and μ²/2 (1 + 26μ + …) for 4, if m is
    Poisson of mean μ: what is there three times makes three pairs.
    """
    V, N, L = s.vocab, s.samples, s.length
    triples = {3: 8, 4: 26}[order]
    twice = N * L * (L - 1) / (2 * V**2) * (1 + triples * np.minimum(L / V, 1))
    marked = N * (N - 1) / (2 * V**2) * (1 + triples * np.minimum(N / V, 1))
    return (
        twice * (2 * g.own * V / N**2) ** order
        + marked * (2 * (1 - 1 / L) * g.signal * V / N**2) ** order
    )


def attention_scores(s: ProblemArrays, h: Means) -> AttentionScores:
    """Signal and noise of the attention scores."""
    g = gains(s, h)
    V, N, d, L, m = s.vocab, s.samples, s.effective_dim, s.length, s.width
    c, keep, others = V / d, 1 - 1 / L, L - 1
    # W_in^T W_in / m is not the identity: it stretches gradients by 1 + d/m in square.
    stretch = 1 + np.minimum(s.dim, V) / m
    remembered = np.where(s.marked, memorisation(V, N, d, L, g.bias), 0)
    signal = keep * g.signal + remembered
    pulled = mean_bias(V, N, d, L, g.bias, s.gaussian)
    root = np.sqrt(stretch)
    wide, met_by_chance = (
        gradient_noise(V, N, d, L, g.drift * by, g.direct * by, g.scatter, g.own * by, s.gaussian)
        for by in (1.0, root)
    )
    few_units = mlp_noise(V, N, d, L, m, g.pull, g.single)
    # With the trigger in the values, labels that met by chance are remembered with it.
    met = others / d * (1 + c) / N * ((1 + c) / N + c / V) + (1 + c) ** 2 / (N * V) * (1 + V / N)
    met = met * g.drift**2 + g.own**2 * V / N**3 * (1 + c) * (1 + others / d)
    met = met + (g.bias * others / N) ** 2 * (1 + 3 * c) / d
    # Only another sample of the same label shows which token of a sample is marked. The number of
    # such pairs is random.
    pair_score = 2 / N * (keep * V / N * g.signal + remembered)
    # The trigger overlaps the mean of all samples, which it is remembered with and pulled towards.
    apart = others * _fluctuating(L, s.gaussian) / L / d
    drawn = c * (g.drift * others / N) ** 2
    drawn = drawn + V * others * c / N**3 * (g.own**2 + g.drift**2 * N / d)
    drawn = drawn + 2 * keep * apart * g.bias**2 * (V / N + L) * c * L / N**2
    few = ((keep + others / d) * V * L * g.pull / N) ** 2 / m + 2 / m * remembered**2
    curved = (keep * g.curvature / L) ** 2 * V / (N * d**3)
    # Facts overlap in tokens and in outputs, each by 1/√d: this stays in the population.
    overlaps = 2 * (keep * g.signal * (1 + V / N) / d) ** 2
    trigger = stretch * pulled.trigger + met_by_chance.trigger + few_units.trigger + overlaps
    trigger = trigger + curved + 2 / d * remembered**2
    trigger = trigger + np.where(s.marked, stretch * drawn + few, 0)
    return AttentionScores(
        signal=signal,
        remembered=remembered,
        terms={
            "gradient_noise": wide.tokens + np.where(s.marked, met, 0),
            "mean_bias": pulled.tokens,
            "mlp_noise": few_units.tokens
            + (stretch - 1) * pulled.tokens
            + (met_by_chance.tokens - wide.tokens),
        },
        trigger_variance=trigger + np.where(s.gaussian, 2 * signal**2 / s.dim, 0),
        pairs=N * (N - 1) / (2 * V),
        pair_score=pair_score,
        third=_tokens_cumulant(s, g, 3),
        fourth=_tokens_cumulant(s, g, 4),
    )
