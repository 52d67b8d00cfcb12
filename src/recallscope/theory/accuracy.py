"""From signal and noise to a probability: attention, recall and first-gradient accuracy.

All three have the step eq:threshold in common: a right answer beats the highest of many wrong ones,
with scores u·g for random directions u. It is exact for Gaussian noise, with the spread of |g| to
first order.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, pdtr  # type: ignore[import-untyped]

from recallscope.common.shapes import Float
from recallscope.theory.attention_scores import (
    AttentionScores,
    attention_scores,
    cross_talk,
    score_variance,
)
from recallscope.theory.few_samples import few_samples_accuracy, poisson
from recallscope.theory.problem_arrays import Array, ProblemArrays, take
from recallscope.theory.readout import (
    ReadNoise,
    Readout,
    Storage,
    first_gradient_readout,
    means,
    recall_readout,
    total,
)

_TRIGGER_NODES, _weights = np.polynomial.hermite_e.hermegauss(7)
_TRIGGER_WEIGHTS = _weights / _weights.sum()
_COUNT_NODES, _weights = np.polynomial.hermite_e.hermegauss(8)
_COUNT_WEIGHTS = _weights / _weights.sum()
_legendre, _weights = np.polynomial.legendre.leggauss(3)
_LEVELS, _LEVEL_WEIGHTS = (_legendre + 1) / 2, _weights / 2
_ROWS_AT_ONCE = 8192
_BINS = 129
_MANY = 1e12  # samples for each fact; more make no difference
_FEW_PAIRS = 6  # of samples of one label: fewer are counted one by one
_NO_LONGER_FEW = 2  # samples for each fact; from one on, formulas of few and of many are joined
_CERTAIN = 1e-3  # attention this nearly never or always right need not be called partial


class Accuracies(NamedTuple):
    """Predicted accuracies, one of each for each problem."""

    attention_accuracy: Array
    recall_accuracy: Array
    first_gradient_accuracy: Array


class Analysis(NamedTuple):
    """Everything the theory says about problems: accuracies, and what they come from."""

    accuracies: Accuracies
    recall_if_attended: Array  # if attention always found the trigger
    attention: AttentionScores
    recall: Readout
    first_gradient: Readout


class Contest(NamedTuple):
    """The marked token against its highest rival, by the trigger's score and the rival's level."""

    won: Float[np.ndarray, "n instances levels"]  # by this fraction of tokens
    highest: Float[np.ndarray, "n instances levels"]  # score of the rival, in standard deviations
    weight: Float[np.ndarray, "n instances"]  # of the trigger's scores


def analyse(s: ProblemArrays) -> Analysis:
    """All closed forms of all problems.

    >>> from recallscope.theory.problem_arrays import problem_arrays
    >>> analysis = analyse(problem_arrays(vocab=512, samples=8192, dim=64, length=[8, 32, 128]))
    >>> analysis.accuracies.attention_accuracy.round(3)
    array([1.   , 1.   , 0.999])
    """
    h = means(s)
    scores, recall = attention_scores(s, h), recall_readout(s)
    first_gradient = first_gradient_readout(s, h)
    if_attended = read_accuracy(s, recall, Storage.in_full(s), third_step=True)
    attention = np.empty_like(if_attended)
    right = if_attended.copy()  # of what finds the trigger
    few_pairs = scores.pairs < _FEW_PAIRS
    for chosen in (few_pairs, ~few_pairs):
        if np.any(chosen):
            part, contest = s.take(chosen), _contest(s.take(chosen), take(scores, chosen))
            attention[chosen] = attended = attention_accuracy(part, contest)
            partly = (attended > _CERTAIN) & (attended < 1 - _CERTAIN) & ~_counted(part)
            here = np.flatnonzero(chosen)[partly]
            right[here] = _partly_read(s.take(here), take(recall, here), take(contest, partly))
            right[here] /= attention[here]
    # A test that misses the trigger is a guess, right one time in V: the last term of eq:read.
    guess = (1 - attention) * (1 - right) / (s.vocab - 1)
    first = read_accuracy(s, first_gradient, Storage.in_full(s), third_step=False)
    return Analysis(
        # eq:attention, eq:read, and eq:read of the first step
        Accuracies(attention, attention * right + guess, first),
        if_attended,
        scores,
        recall,
        first_gradient,
    )


def accuracies(s: ProblemArrays) -> Accuracies:
    """The accuracies alone, of any number of problems, a cacheful at a time.

    >>> from recallscope.theory.problem_arrays import problem_arrays
    >>> arrays = problem_arrays(vocab=512, samples=8192, dim=64, length=32)
    >>> accuracies(arrays).recall_accuracy.round(3)
    array([0.324])
    """
    size, shape = s.vocab.size, s.vocab.shape
    flat = ProblemArrays(*(field.reshape(-1) for field in s))
    parts = [
        analyse(flat.take(slice(start, start + _ROWS_AT_ONCE))).accuracies
        for start in range(0, size, _ROWS_AT_ONCE)
    ]
    return Accuracies(
        *(np.concatenate(values).reshape(shape) for values in zip(*parts, strict=True))
    )


def highest_of(count: Array) -> Float[np.ndarray, "*n levels"]:
    """Quantiles of the highest of `count` standard normals, at the nodes of an average over it.

    >>> highest_of(np.array([1e3])).round(2)
    array([[2.85, 3.2 , 3.67]])
    """
    tail = -np.expm1(np.log(_LEVELS) / np.maximum(count, 1.0)[..., None])  # 1 - p^(1/count)
    return -ndtri(tail)


def on_sphere(normal: Array, dim: Array) -> Array:
    """The quantile of √d times a coordinate of the unit sphere, from that of a normal.

    See eq:sphere-quantile.

    Wallace's approximation of Student's law; the sphere's law is a transform of it.

    >>> on_sphere(np.array(3.0), np.array(64.0)).round(4)
    np.float64(2.9296)
    """
    freedom = np.maximum(dim - 1, 0.5)
    stretched = normal * (8 * freedom + 3) / (8 * freedom + 1)
    square = -np.expm1(-(stretched**2) / freedom)
    return np.sign(normal) * np.sqrt(dim * square)


def attention_accuracy(s: ProblemArrays, contest: Contest) -> Array:
    """The probability that the marked position has the highest attention score.

    See eq:attention.
    """
    accuracy: Array = ((contest.won @ _LEVEL_WEIGHTS) * contest.weight).sum(axis=1)
    # A sequence of one token has no noise: attention is at it.
    return np.where(s.length == 1, 1.0, np.minimum(accuracy, 1.0))


def different_rivals(s: ProblemArrays) -> Array:
    """Some of the L - 1 distractors are the same token; only different ones compete.

    See eq:attention.
    """
    return -s.vocab * np.expm1((s.length - 1) * np.log1p(-1 / s.vocab))


def _contest(s: ProblemArrays, scores: AttentionScores) -> Contest:
    noise = total(scores.terms)[..., None, None]  # σ₀² of eq:attention
    d = s.effective_dim[..., None, None]
    normal = highest_of(different_rivals(s))[..., None, :]
    highest = np.where(  # eq:sphere-quantile
        s.gaussian[..., None, None], normal, on_sphere(normal, s.dim[..., None, None])
    )
    score, weight = _trigger_scores(s, scores)
    trigger = score[..., None]
    alone = (s.length == 1)[..., None, None]
    variance = np.where(alone, 1.0, noise + cross_talk(trigger, d))  # σ²(T) of eq:attention
    third, fourth = (field[:, None, None] for field in (scores.third, scores.fourth))
    some = np.maximum(variance, 1e-140)
    highest = highest + _tail_shift(normal, third / some**1.5, fourth / some**2)  # eq:tail-shift
    margin = trigger / np.sqrt(variance) - highest  # eq:attention, divided by:
    spread = 1 + (highest * noise / variance) ** 2 / (2 * s.dim[..., None, None])
    return Contest(ndtr(margin / np.sqrt(spread)), highest, weight)


def _trigger_scores(
    s: ProblemArrays, scores: AttentionScores
) -> tuple[Float[np.ndarray, "n instances"], Float[np.ndarray, "n instances"]]:
    """Return the trigger's scores over instances, with weights."""
    if np.any(scores.pairs >= _FEW_PAIRS):  # as good as Gaussian
        deviation = np.sqrt(score_variance(scores))[:, None]  # eq:trigger-spread
        by_pairs = (scores.pair_score * np.sqrt(scores.pairs))[:, None]
        share = np.divide(by_pairs, deviation, out=np.zeros_like(deviation), where=deviation > 0)
        skewness = share**3 * ((1 + 2 * s.per_token) / np.sqrt(scores.pairs))[:, None]
        nodes = _TRIGGER_NODES + np.minimum(skewness, 1) * (_TRIGGER_NODES**2 - 1) / 6
        score = scores.signal[:, None] + deviation * nodes
        return score, np.broadcast_to(_TRIGGER_WEIGHTS, score.shape)
    number = np.arange(_FEW_PAIRS + 5 * np.sqrt(_FEW_PAIRS))
    chance = poisson(number, scores.pairs[:, None])
    # N samples have N²/2V pairs, without those of a sample with itself, which say nothing.
    more = number - (s.samples**2 / (2 * s.vocab))[:, None]
    score = (scores.signal[:, None] + scores.pair_score[:, None] * more)[..., None]
    score = score + np.sqrt(scores.trigger_variance)[:, None, None] * _TRIGGER_NODES
    weight = chance[..., None] * _TRIGGER_WEIGHTS
    return score.reshape(len(chance), -1), weight.reshape(len(chance), -1)


def _partly_read(s: ProblemArrays, readout: Readout, contest: Contest) -> Float[np.ndarray, " n"]:
    """The probability that the trigger is found and its fact read. See eq:partial-recall."""
    # A token that beats rivals up to a level is found as often as rivals are no higher.
    strengths = np.minimum(np.cumsum(_LEVEL_WEIGHTS), 1)  # the values of P
    tokens = _from_level_to_next(contest.won)
    mean, square, cube, fourth = (tokens @ strengths**power for power in (1, 2, 3, 4))
    variance = square - mean**2
    attended = mean * contest.weight
    instances = attended / attended.sum(axis=1, keepdims=True)
    # Samples that miss the trigger read the highest token present, the same few again and again.
    present = (different_rivals(s) / s.vocab)[:, None]  # ε of eq:partial-strength
    alike = np.where(s.marked[:, None], 0, present / (2 - present))  # ε/(2 - ε)
    moments = [  # eq:partial-strength
        (moment * instances).sum(axis=1)
        for moment in (mean, square + alike * variance, cube, fourth, variance)
    ]
    # Those tokens lie along the attention vector, and so do the ones found: eq:partial-lean.
    beaten = 1 - contest.won
    rival = (beaten * contest.highest) @ _LEVEL_WEIGHTS / np.maximum(1 - mean, 1e-12)
    above = _from_level_to_next(np.exp(-(ndtri(contest.won) ** 2) / 2) / np.sqrt(2 * np.pi))
    share = (contest.weight[:, None, :] @ tokens)[:, 0]
    leaning = (contest.weight * rival)[:, None, :] @ (above * (strengths - mean[..., None]))
    lean = np.where(s.marked, 0, readout.slope / s.effective_dim)[:, None]
    storage = Storage(
        np.broadcast_to(strengths, share.shape),
        strengths * share,
        lean * leaning[:, 0] / np.maximum(share, 1e-12),
        *moments,
    )
    return read_accuracy(s, readout, storage, third_step=True)  # eq:partial-recall


def _from_level_to_next(values: Float[np.ndarray, "n instances levels"]) -> Array:
    """Return what a sum over all tokens above each level leaves for those below the next."""
    parts = values.copy()
    parts[..., :-1] -= values[..., 1:]
    return parts


def _counted(s: ProblemArrays) -> Array:
    """Where whole counts compete, and no noise."""
    return s.orthogonal & np.isinf(s.width)


def read_accuracy(s: ProblemArrays, readout: Readout, storage: Storage, third_step: bool) -> Array:
    """The probability that the right label has the highest logit. See eq:threshold and eq:read."""
    accuracy = np.empty_like(s.vocab)
    counted = _counted(s)
    if np.any(counted):
        accuracy[counted] = _orthogonal_accuracy(s.take(counted), third_step)
    # Few samples for each fact are counted one by one, many are as good as Gaussian.
    bins = (1, 1.5, 3.5, 8, np.inf)
    for low, high in pairwise(bins):
        chosen = (s.per_token >= low) & (s.per_token < high) & ~counted
        nodes = None if np.isinf(high) else np.arange(high + 5 * np.sqrt(high) + 4)
        if np.any(chosen):
            part = s.take(chosen), take(readout, chosen), take(storage, chosen)
            accuracy[chosen] = _read_accuracy(*part, nodes)  # eq:read
    fewer = (s.per_token < _NO_LONGER_FEW) & ~counted
    if np.any(fewer):
        part = s.take(fewer), take(readout, fewer), take(storage, fewer)
        of_few = few_samples_accuracy(*part, _read_noise(*part))  # eq:few-samples
        # Between the two regimes each has a weight: no curve has a step.
        share = np.clip(np.log(s.per_token[fewer]) / np.log(_NO_LONGER_FEW), 0, 1)
        other = np.where(share > 0, accuracy[fewer], 0)  # not known below one sample a fact
        accuracy[fewer] = (1 - share) * of_few + share * other
    return accuracy


def _read_noise(s: ProblemArrays, readout: Readout, stored: Storage) -> ReadNoise:
    d, few = s.dim[:, None], 1 / s.per_token[:, None]
    bias, bare = readout.bias[:, None], readout.bare_bias[:, None]
    mean, square, cube, fourth, variance = (field[:, None] for field in stored[3:])
    # E c² and E c⁴ of what labels have in the memory. A sample that misses the trigger is in it
    # too, under another token, and so does not thin what is due to chance.
    c2, c4 = square + few, fourth + 6 * cube * few + 7 * square * few**2 + few**3
    # The common part of all reads is stored by all samples of a label, also those that
    # missed the trigger, unless it is the trigger.
    imbalance = (1 - bare) ** 2 * variance + (mean + bare**2 * (1 - mean)) * few  # eq:partial-bias
    items = {name: values for name, values in readout.terms.items() if name != "mean_bias"}
    shared = readout.terms["mean_bias"][:, None]
    # Items with eq:partial-strength; the common part with eq:partial-bias.
    wrong = total(items)[:, None] * (c2 / (1 + few)) + shared * (imbalance / few)
    crowding = (s.vocab / s.effective_dim)[:, None]
    # What reaches a label through all others' outputs, and what through its own stored item.
    common, own = wrong * crowding / (1 + crowding), wrong / (1 + crowding)
    across = np.maximum(common * (1 - 1 / d) + own, 1e-100)
    normal = highest_of(s.vocab - 1)
    third_own, fourth_own = _own_cumulants(readout, stored, few)
    # A label's own item is part of what it is compared with. The logits of V labels in d dimensions
    # depend on each other as if there were fewer dimensions. See eq:logit-correlation.
    V = s.vocab[:, None]
    lean = 1 / (1 / d + np.where(s.orthogonal[:, None], 1 / V, (2 + c4 / c2**2) / (V + d)))
    highest = np.where(s.gaussian[:, None], normal, on_sphere(normal, lean))  # eq:sphere-quantile
    shift = _tail_shift(normal, third_own / across**1.5, fourth_own / across**2)  # eq:tail-shift
    highest = highest + shift
    limit = np.minimum(np.where(s.orthogonal[:, None], 0, highest**2 / d), 0.95)
    typical = np.mean(highest / np.sqrt(1 - limit), axis=1, keepdims=True)
    return ReadNoise(
        c2=c2,
        imbalance=imbalance,
        common=common,
        own=own,
        within=np.maximum(own - (readout.item_variance[:, None] * c2 + bias**2 * imbalance), 0),
        lean=lean,
        across=across,
        spread=(typical * common) ** 2 / across / (2 * lean),
        highest=highest,
    )


def _read_accuracy(
    s: ProblemArrays, readout: Readout, stored: Storage, nodes: Array | None
) -> Array:
    noise = _read_noise(s, readout, stored)
    d, few = s.dim[:, None], 1 / s.per_token[:, None]
    bias, bare, mean = readout.bias[:, None], readout.bare_bias[:, None], stored.mean[:, None]
    limit = np.where(s.orthogonal[:, None], 0, noise.highest**2 / d)
    # In very few dimensions some wrong label always points the same way, and the right one loses.
    # θ of eq:threshold
    threshold = noise.highest * np.sqrt(noise.across / np.maximum(1 - limit, 1e-9))

    count, weight = _counts(s.per_token[:, None] * stored.strength, nodes)
    count, weight = count * stored.strength[..., None], weight * stored.share[..., None]
    counts = count.shape[-1]
    strength, lost = (np.repeat(field, counts, axis=1) for field in (stored.strength, stored.lost))
    count, weight = count.reshape(len(d), -1), weight.reshape(len(d), -1)
    # The signal of eq:read, with δ of eq:partial-bias, without what eq:partial-lean loses.
    signal = count + (count - bare * strength - (1 - bare) * mean) * bias - lost
    right = noise.common + noise.within * np.minimum(count, 1)  # σ_R² of eq:read, in three parts
    right = right + (1 - strength) * few * (bare * bias) ** 2
    right = right + readout.token_variance[:, None] * signal**2
    scale = 1 / np.sqrt(right + noise.spread + 1e-300)
    margin = (signal * scale)[:, :, None] - scale[:, :, None] * threshold[:, None, :]  # eq:read
    # A fact that was never seen is like its rivals, and right once in V.
    read = np.where(count > 0, ndtr(margin) @ _LEVEL_WEIGHTS, 1 / s.vocab[:, None])
    accuracy: Array = (read * weight).sum(axis=1)
    return np.minimum(accuracy, 1.0)


def _tail_shift(normal: Array, skewness: Array, kurtosis: Array) -> Array:
    """Return the shift of a normal quantile by skewness and kurtosis. See eq:tail-shift.

    This is Wilson and Hilferty's quantile of a gamma law of this skewness, which stays sound where
    series do not. To first order it adds the kurtosis that a gamma law does not have already.
    """
    skewness = np.clip(skewness, 1e-6, 10)
    cube = 1 + skewness * normal / 6 - skewness**2 / 36
    gamma = 2 / skewness * (cube**3 - 1)
    excess = np.clip(kurtosis - 1.5 * skewness**2, -1, 1)  # where first order is of use
    return gamma - normal + excess * (normal**3 - 3 * normal) / 24


def _own_cumulants(readout: Readout, stored: Storage, few: Array) -> tuple[Array, Array]:
    """Third and fourth cumulant of a label's own stored item: its count times its kernel."""
    item, bias = readout.item_variance[:, None], readout.bias[:, None]
    third, fourth = readout.third[:, None], readout.fourth[:, None]
    m2, m3, m4 = (field[:, None] for field in (stored.square, stored.cube, stored.fourth))
    # Moments of the count c: E c^j, and E (c - 1)^i c^j of the common part of all reads.
    c2, c3 = m2 + few, m3 + 3 * m2 * few + few**2
    c4 = m4 + 6 * m3 * few + 7 * m2 * few**2 + few**3
    own_third = bias**3 * few**2 + 3 * bias * (2 * m2 * few + few**2) * item + c3 * third
    own_fourth = (
        bias**4 * (3 * few**2 + few**3)
        + 6 * bias**2 * (m2 * few + 5 * few**2 + few**3) * item
        + 4 * bias * (3 * m3 * few + 6 * m2 * few**2 + few**3) * third
        + c4 * (fourth + 3 * item**2)
        - 3 * (bias**2 * few + item * c2) ** 2
    )
    return own_third + readout.spill_third[:, None], own_fourth + readout.spill_fourth[:, None]


def _counts(
    per_token: Float[np.ndarray, "n strengths"], nodes: Array | None
) -> tuple[Float[np.ndarray, "n strengths nodes"], Float[np.ndarray, "n strengths nodes"]]:
    """How often a fact was seen, over the mean, with weights: Poisson, or its Gaussian limit."""
    rate = per_token[..., None]
    if nodes is None:
        root = 1 / np.sqrt(rate)
        skewed = _COUNT_NODES + (_COUNT_NODES**2 - 1) * root / 6
        count = np.maximum(1 + skewed * root, 0)
        return count, np.broadcast_to(_COUNT_WEIGHTS, count.shape)
    return nodes / rate, poisson(nodes, rate)


def _orthogonal_accuracy(s: ProblemArrays, third_step: bool) -> Array:
    """Attention alone over orthogonal embeddings: whole counts compete, ties are shared.

    See eq:orthogonal.

    A label that occurred n times met the token asked for Poisson(n (L-1)/V) times as a distractor.
    If the token is its own, it met it n times more. In the third step there are no distractors;
    with the trigger in the values each label then counts n, and that of the token 2n.
    """
    rate = np.minimum(s.per_token, _MANY)
    if third_step:
        times, weight = _poisson_bins(rate)
        shared = s.marked[:, None]
        count = np.where(shared, 2 * times, times)
        rival = np.where(shared, rate[:, None], 0.0)
        reached, below = _up_to(count, rival), _up_to(count - 1, rival)
    else:
        met = (s.length - 1) / s.vocab
        count, edges = _bins(rate * (1 + met), rate * (1 + met) * (1 + met))
        upto = _met_up_to(edges, rate, np.ones_like(rate), met)
        weight = np.diff(upto, axis=1, prepend=0)
        nothing = np.zeros_like(rate)
        reached = _met_up_to(count, rate, nothing, met)
        below = _met_up_to(count - 1, rate, nothing, met)
    vocab, tied = s.vocab[:, None], np.maximum(reached - below, 1e-300)
    wins = np.where(
        tied > 1e-12, (reached**vocab - below**vocab) / (vocab * tied), below ** (vocab - 1)
    )
    accuracy: Array = (np.maximum(weight, 0) * wins).sum(axis=1)
    return np.minimum(accuracy, 1.0)


def _bins(mean: Array, variance: Array) -> tuple[Array, Array]:
    """The middles and the upper ends of bins about a mean: single numbers, if they are few."""
    reach = 8 * np.sqrt(variance) + 8
    low = np.maximum(np.floor(mean - reach), 0)[:, None]
    width = np.maximum((mean + reach)[:, None] - low, _BINS - 1)
    edges = np.floor(low + np.arange(_BINS) * width / (_BINS - 1) + 1e-9)
    before = np.concatenate([low - 1, edges[:, :-1]], axis=1)
    return np.floor((before + 1 + edges) / 2), edges


def _poisson_bins(rate: Array) -> tuple[Array, Array]:
    """How often labels occur, with weights."""
    count, edges = _bins(rate, rate)
    return count, np.diff(_up_to(edges, rate[:, None]), axis=1, prepend=0)


def _up_to(count: Array, rate: Array) -> Array:
    """The probability that a Poisson number is at most `count`."""
    probability: Array = pdtr(np.maximum(count, 0), np.maximum(rate, 1e-300))
    return np.where(count < 0, 0.0, probability)


def _met_up_to(count: Array, rate: Array, times: Array, met: Array) -> Array:
    """P(times · n + Poisson(met · n) ≤ count) for n ~ Poisson(rate)."""
    occurred, weight = _poisson_bins(rate)
    probabilities = np.empty_like(count)
    for row in range(len(count)):  # a row is a table of bins by bins
        left = count[row][:, None] - times[row] * occurred[row]
        probabilities[row] = _up_to(left, met[row] * occurred[row]) @ weight[row]
    return probabilities
