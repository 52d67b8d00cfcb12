"""How many facts an update of low rank stores: W = A B with r inner dimensions.

Derived in docs/low-rank.md. A whole matrix reaches into the cones of n facts if its m d parameters
are more than the n K_d(V) dimensions that the cones lack. Matrices of rank r are no subspace. In
place of a dimension comes the squared Gaussian width of those of length one: the sum of the r
largest squared singular values of a random m × d matrix. For small ranks that is up to twice the
number of parameters.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import gammainc  # type: ignore[import-untyped]

from recallscope.theory.label_pool import pool
from recallscope.theory.output_cone import cone

NAMED = 2.0
"""Fitted: labels that may be named, as a multiple of d r / ln(1/F); the study low_rank."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


def low_rank_dimensions(inputs: float, outputs: float, rank: float) -> float:
    """The squared Gaussian width of matrices of a rank: as many dimensions as they seem to have.

    With λ = m + d + 2√(md) cos φ, the law of Marchenko and Pastur has r eigenvalues below an angle
    φ, and their sum is (md/π) (φ − sin φ cos φ).

    >>> [round(low_rank_dimensions(64, 48, rank)) for rank in (1, 8, 48)]
    [207, 1300, 3072]
    """
    from scipy.optimize import brentq  # type: ignore[import-untyped]

    whole = inputs * outputs
    if rank >= min(inputs, outputs):
        return whole
    half = 2 * math.sqrt(whole)

    def beyond(angle: float) -> float:
        """How many singular values are below an angle, over the rank."""
        at = angle / 2 * (_NODES + 1)
        density = (half * np.sin(at)) ** 2 / (inputs + outputs + half * np.cos(at) + 1e-12)
        return float(angle / 2 * (_WEIGHTS @ density)) / (2 * math.pi) - rank

    angle = float(brentq(beyond, 1e-9, math.pi))
    return whole / math.pi * (angle - math.sin(angle) * math.cos(angle))


def nameable(vocab: float, rank: float) -> float:
    """The fraction of V random labels in r dimensions that can have the highest score at all.

    A label can if fewer than r rivals have to be brought to its level. Their number has the mean
    and variance of `pool`, and is taken to follow a gamma law.

    >>> [round(nameable(256, rank), 2) for rank in (2, 4, 8, 16)]
    [0.02, 0.23, 0.79, 1.0]
    """
    mean, variance = pool(vocab)
    return float(gammainc(mean**2 / variance, rank * mean / variance))


@lru_cache(maxsize=4096)
def low_rank_facts(inputs: float, outputs: float, rank: float, vocab: float) -> float:
    """How many facts with random ones of V labels a memory of a rank stores.

    >>> [round(low_rank_facts(64, 48, rank, 256)) for rank in (1, 4, 16, 48)]
    [2, 142, 356, 520]
    """
    outputs = min(outputs, vocab - 1)
    facts = low_rank_dimensions(inputs, outputs, rank) / cone(vocab, outputs)
    if rank >= min(inputs, outputs):
        return facts
    if rank < 2:
        return 2.0  # labels can be named: the highest and the lowest
    chance = nameable(vocab, rank)
    every = outputs >= vocab - 1 or chance == 1
    labels = vocab if every else min(-NAMED * outputs * rank / math.log(chance), vocab)
    if rank > 2:  # in a plane, training does not find it
        # As far as labels can be named, B is a whole matrix for outputs in r dimensions.
        facts_if_named = rank * (inputs + outputs - rank) / cone(vocab, rank)
        facts += labels / vocab * max(facts_if_named - facts, 0.0)
    return facts if labels == vocab else min(facts, -vocab * math.log1p(-labels / vocab))
