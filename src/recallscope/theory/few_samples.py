"""Reading a memory of few samples: labels differ by how often they were seen at all.

With N < V most labels have no sample in the memory, a few have one, and fewer have two. Their
logits are not one Gaussian but a mixture. One that met the token asked for as a distractor is as
strong as the right one. eq:few-samples counts such classes of rivals one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, xlogy  # type: ignore[import-untyped]

from recallscope.theory.problem_arrays import Array, ProblemArrays, take
from recallscope.theory.readout import ReadNoise, Readout, Storage

_ROWS_AT_ONCE = 256


class _Classes(NamedTuple):
    """The grids of few samples: counts one by one, and the right label's noise."""

    seen: int  # samples of a label, from none on
    met: int  # of them, with the token asked for as a distractor
    points: int  # of the right label's noise, each as likely


# With more samples than facts the formula of many has a weight too, and a coarser grid is enough.
_FEWER, _MORE = _Classes(6, 4, 24), _Classes(8, 3, 12)


def poisson(number: Array, mean: Array) -> Array:
    """The probabilities of all numbers that matter."""
    weight: Array = np.exp(xlogy(number, mean) - mean - gammaln(number + 1))
    return weight / weight.sum(axis=-1, keepdims=True)


def few_samples_accuracy(
    s: ProblemArrays, readout: Readout, stored: Storage, noise: ReadNoise
) -> Array:
    """The probability that the right label has the highest logit, for few samples.

    See eq:few-samples.
    """
    accuracy = np.empty_like(s.vocab)
    for classes, chosen in ((_FEWER, s.per_token < 1), (_MORE, s.per_token >= 1)):
        rows = np.flatnonzero(chosen)
        for start in range(0, len(rows), _ROWS_AT_ONCE):  # each is a table of classes by points
            part = rows[start : start + _ROWS_AT_ONCE]
            fields = s.take(part), take(readout, part), take(stored, part), take(noise, part)
            accuracy[part] = _accuracy(*fields, classes)
    return accuracy


def _accuracy(
    s: ProblemArrays, readout: Readout, stored: Storage, noise: ReadNoise, classes: _Classes
) -> Array:
    numbers = np.arange(float(classes.seen))
    deviates = ndtri((np.arange(classes.points) + 0.5) / classes.points)
    V, N, d = (field[:, None] for field in (s.vocab, s.samples, s.dim))
    rate = N / V
    bias, bare, slope = (
        field[:, None] for field in (readout.bias, readout.bare_bias, readout.slope)
    )
    # Rivals: `seen` samples of a label, `met` of them with the token asked for as a distractor.
    chance = np.where(readout.spill_third > 0, (s.length - 1) / s.vocab, 0.0)[:, None]
    chance = np.where(chance < 1, chance, 0.0)  # so many that they are a part of the noise
    times = np.arange(float(classes.met if np.any(chance > 0) else 1))
    seen, met = (grid.ravel() for grid in np.meshgrid(numbers, times, indexing="ij"))
    rivals = (V - 1) * np.repeat(poisson(numbers, rate), len(times), axis=1)
    rivals = rivals * poisson(times, numbers[:, None] * chance[..., None]).reshape(len(V), -1)
    uneven = bias * np.sqrt(noise.imbalance * rate)
    level = uneven * (seen / rate - 1) + slope * (met - seen * chance) / rate
    drawn = np.maximum(noise.within - slope**2 * chance / rate, 0)
    own = readout.item_variance[:, None] * noise.c2 / (1 + 1 / rate) * (seen / rate) ** 2
    own = own + drawn * seen / rate

    # The fact asked for, by how often it was stored.
    strength, lost = stored.strength[..., None], stored.lost[..., None]
    count, weight = numbers[1:], poisson(numbers, rate[..., None] * strength)[..., 1:]
    mean, count = stored.mean[:, None, None], count / rate[..., None]
    stored_alike = bare[..., None] * strength + (1 - bare[..., None]) * mean
    signal = count + (count - stored_alike) * bias[..., None] - lost
    others = noise.common[..., None] * np.maximum(1 - count / V[..., None], 0)
    right = others + np.maximum(noise.within, 0)[..., None] * count + noise.spread[..., None]
    right = right + (1 - strength) / rate[..., None] * (bare * bias)[..., None] ** 2
    right = right + readout.token_variance[:, None, None] * signal**2
    logit = signal[..., None] + np.sqrt(right)[..., None] * deviates

    flat = logit.reshape(len(V), -1, 1)
    across = np.broadcast_to((others * (1 - 1 / d[..., None]))[..., None], logit.shape)
    lean = np.where(s.orthogonal, 0.0, 1 / s.dim)[:, None, None] * flat**2
    # From here on nearly all the time is spent: arrays of rivals by points are written once.
    deviation = (across.reshape(flat.shape) + lean + 1e-300) + own[:, None, :]
    above = level[:, None, :] - flat
    above /= np.sqrt(deviation, out=deviation)
    np.clip(above, -1e6, 1e6, out=above)
    sphere = ~s.gaussian
    above[sphere] = from_sphere(above[sphere], noise.lean[sphere, :, None])
    beaten = np.exp(-(ndtr(above, out=above) @ rivals[:, :, None])).reshape(logit.shape)
    accuracy = (beaten.mean(axis=-1) * weight).sum(axis=-1)
    # A fact that was never seen is like its rivals, and right once in V.
    accuracy = accuracy + (1 - weight.sum(axis=-1)) / V
    return (accuracy * stored.share).sum(axis=-1)


def from_sphere(coordinate: Array, dim: Array) -> Array:
    """The inverse of `on_sphere`: a normal quantile from that of the sphere.

    See eq:sphere-quantile.

    >>> from_sphere(np.array(2.9296), np.array(64.0)).round(3)
    np.float64(3.0)
    """
    freedom = np.maximum(dim - 1, 0.5)
    square = np.asarray(coordinate**2 / -dim)
    np.log1p(np.maximum(square, 1e-12 - 1, out=square), out=square)
    square *= -freedom
    np.copysign(np.sqrt(square, out=square), coordinate, out=square)
    return square * ((8 * freedom + 1) / (8 * freedom + 3))
