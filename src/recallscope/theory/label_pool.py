"""How many rivals a label has to be raised against: the dimensions that its cone lacks, K(V).

Derived in docs/end-of-training.md. A fact is stored if its label scores above all rivals: its
scores lie in a cone. Normal scores are projected on it by bringing some rivals, the pool, to the
level of the label. Among independent scores the cone lacks as many dimensions as the pool has
rivals.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, wofz  # type: ignore[import-untyped]

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


@lru_cache(maxsize=4096)
def pool(vocab: float) -> Pool:
    """The pool of a label among V − 1 rivals with independent normal scores.

    The level t of the pool solves t = g₀ + Σ (g − t)₊. So a rival of score g is in it if g₀ plus
    what the others exceed g by is at most g. Two rivals are in it if this is true of the lower.

    >>> [round(pool(vocab).mean, 2) for vocab in (2, 64, 512, 4096)]
    [0.5, 4.2, 7.11, 10.32]
    """
    lowest = -_HIGHEST
    while vocab * _mean_excess(lowest) > _CROWD:
        lowest += 0.05
    half = (_HIGHEST - lowest) / 2
    level = lowest + half * (_NODES + 1)
    density = half * _WEIGHTS * normal_density(level)
    mean = (vocab - 1) * float(density @ _share_below(level, level[:, None], vocab - 2)[:, 0])
    if vocab == 2:
        return Pool(mean, mean - mean**2)
    apart = _FARTHEST / 2 * (_FEW_NODES + 1)
    others = _share_below(level, level[:, None] - apart, vocab - 3)
    lower = others * normal_density(level[:, None] + apart) @ (_FARTHEST / 2 * _FEW_WEIGHTS)
    pairs = (vocab - 1) * (vocab - 2) * 2 * float(density @ lower)
    return Pool(mean, pairs + mean - mean**2)


def _share_below(level: np.ndarray, most: np.ndarray, rivals: float) -> np.ndarray:
    """P(g₀ + Σ (g − level)₊ ≤ most) over some rivals, by inversion of the characteristic function.

    Its modulus falls as that of g₀ does, and a plain sum over frequencies is exact to 1e-9.
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
    return float(normal_density(np.array(level)) - level * ndtr(-level))


def normal_density(x: np.ndarray) -> np.ndarray:
    """The density of a standard normal number."""
    return np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
