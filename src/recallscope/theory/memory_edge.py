"""Where a memory is full: how many parameters hold a number of facts without error.

Derived in docs/end-of-training.md. A fact is held if its label scores above all rivals: its scores
lie in a cone. The scores that parameters can make are a subspace, which reaches into all cones at
once if it has more dimensions than the cones lack. One cone lacks as many as there are, on average,
rivals in the pool of a label: those that are brought to its level as normal scores are projected on
the cone.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, wofz  # type: ignore[import-untyped]

_EARLIER = 0.4
"""Measured (studies/memory_edge.py): scores that share their embeddings are held by fewer
parameters than independent ones, by this times √(pool/V), which is d/V at the edge."""

_STEP = 0.02
_FREQUENCY = (np.arange(450) + 0.5) * _STEP
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_FEW_NODES, _FEW_WEIGHTS = np.polynomial.legendre.leggauss(24)
_HIGHEST = 8.5  # no score is above
_FARTHEST = 6.0  # no two rivals of one pool are further apart
_CROWD = 60.0  # what rivals exceed a level by, in sum, at a level too low to occur


class Pool(NamedTuple):
    """How many rivals a label has to be raised against: mean and variance."""

    mean: float
    variance: float


class Edge(NamedTuple):
    """Parameters with which half of all memories hold every fact, and the spread around it.

    `independent` is where it would be if all scores were.
    """

    parameters: float
    spread: float
    independent: float

    def share_that_hold(self, parameters: float) -> float:
        """How many of all memories with so many parameters hold every fact.

        >>> [round(edge(256, 256).share_that_hold(dim**2), 2) for dim in (36, 38, 40)]
        [0.0, 0.31, 1.0]
        """
        return float(ndtr((parameters - self.parameters) / self.spread))


def edge(vocab: int, facts: float) -> Edge:
    """Where a memory of some facts is full, each of which is to be told from all V labels.

    >>> round(edge(4096, 4096).parameters ** 0.5), round(edge(4096, 2048).parameters ** 0.5)
    (204, 144)
    """
    mean, variance = pool(vocab)
    return Edge(
        parameters=facts * mean * (1 - _EARLIER * math.sqrt(mean / vocab)),
        spread=math.sqrt(facts * variance),
        independent=facts * mean,
    )


@lru_cache(maxsize=4096)
def pool(vocab: float) -> Pool:
    """The pool of a label among V − 1 rivals with independent normal scores.

    The level t of the pool solves t = g₀ + Σ (g − t)₊. So a rival of score g is in it if g₀ and
    what the others exceed g by come to no more than g; for two rivals, if this holds of the lower.

    >>> [round(pool(vocab).mean, 2) for vocab in (2, 64, 512, 4096)]
    [0.5, 4.2, 7.11, 10.32]
    """
    lowest = -_HIGHEST
    while vocab * _mean_excess(lowest) > _CROWD:
        lowest += 0.05
    half = (_HIGHEST - lowest) / 2
    level = lowest + half * (_NODES + 1)
    density = half * _WEIGHTS * _normal(level)
    mean = (vocab - 1) * float(density @ _share_below(level, level[:, None], vocab - 2)[:, 0])
    if vocab == 2:
        return Pool(mean, mean - mean**2)
    apart = _FARTHEST / 2 * (_FEW_NODES + 1)
    others = _share_below(level, level[:, None] - apart, vocab - 3)
    lower = others * _normal(level[:, None] + apart) @ (_FARTHEST / 2 * _FEW_WEIGHTS)
    pairs = (vocab - 1) * (vocab - 2) * 2 * float(density @ lower)
    return Pool(mean, pairs + mean - mean**2)


def _share_below(level: np.ndarray, most: np.ndarray, rivals: float) -> np.ndarray:
    """P(g₀ + Σ (g − level)₊ ≤ most) over some rivals, by inversion of the characteristic function.

    Its modulus falls as that of g₀ does, so that a plain sum over frequencies is exact to 1e-9.
    """
    point = (_FREQUENCY + 1j * level[:, None]) / math.sqrt(2)
    excess = ndtr(level)[:, None] + 0.5 * np.exp(-(level[:, None] ** 2) / 2) * wofz(point)
    wave = np.exp(rivals * np.log(excess) - _FREQUENCY**2 / 2) / _FREQUENCY
    sums = [
        (np.exp(-1j * _FREQUENCY * column[:, None]) * wave).imag.sum(axis=1) for column in most.T
    ]
    return np.clip(0.5 - _STEP / math.pi * np.array(sums).T, 0, 1)


def _mean_excess(level: float) -> float:
    """E (g − level)₊."""
    return float(_normal(np.array(level)) - level * ndtr(-level))


def _normal(x: np.ndarray) -> np.ndarray:
    return np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
