"""What a memory recalls at the end of training, where it is too small to hold all facts.

Derived in docs/end-of-training.md. The minimum of the loss is described by two numbers. To a fact
that is left out, the scores of all labels are independent normal numbers of standard deviation
`spread`; that it is learnt moves its scores against the slope of its own loss, `stiffness` times
how often it was seen. The two are found from two equations: what facts do to each other makes the
spread, and together they use up all parameters.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import root  # type: ignore[import-untyped]
from scipy.special import ndtr, ndtri, wrightomega  # type: ignore[import-untyped]
from scipy.stats import poisson  # type: ignore[import-untyped]

from recallscope.theory.memory_edge import edge

_OWN, _OWN_WEIGHT = np.polynomial.hermite_e.hermegauss(16)
_OWN_WEIGHT = _OWN_WEIGHT / _OWN_WEIGHT.sum()
_TOP, _TOP_WEIGHT = (each / 2 for each in np.polynomial.legendre.leggauss(8))
_TOP = _TOP + 0.5
_REST, _REST_WEIGHT = np.polynomial.legendre.leggauss(24)
_LOWEST = -5.5
_MOST_CLASSES = 6
_FULL = 0.91  # of the edge of independent scores: the equations are steep beyond it
_NEARER = 0.98


class Facts(NamedTuple):
    """How many facts were seen how often."""

    number: np.ndarray
    times: np.ndarray


def facts_seen(vocab: int, samples: float) -> Facts:
    """Facts of a batch of independent samples: Poisson numbers, in a few classes of like ones.

    >>> seen = facts_seen(256, 256)
    >>> round(float(seen.number.sum())), seen.times.round(2).tolist()
    (162, [1.0, 2.39])
    """
    if math.isinf(samples):
        return Facts(np.array([float(vocab)]), np.array([1.0]))
    mean = samples / vocab
    law = poisson(mean)
    counts = np.arange(max(1, law.ppf(1e-6)), law.ppf(1 - 1e-6) + 1)
    share = law.pmf(counts)
    if len(counts) > _MOST_CLASSES:
        # Classes of equal numbers of facts, but that rare ones are few.
        place = np.minimum(
            np.floor(np.cumsum(share) / share.sum() * _MOST_CLASSES), _MOST_CLASSES - 1
        )
    else:
        place = np.arange(len(counts))
    chosen = [place == each for each in np.unique(place)]
    number = np.array([share[each].sum() for each in chosen])
    times = np.array([(counts[each] * share[each]).sum() for each in chosen]) / number
    return Facts(vocab * number, times)


def memory_recall(vocab: int, parameters: float, facts: Facts) -> float:
    """The share of the facts seen that a memory recalls at the end of training.

    >>> every = Facts(np.array([1024.0]), np.array([1.0]))
    >>> [round(memory_recall(1024, dim**2, every), 2) for dim in (60, 80, 96)]
    [0.1, 0.3, 1.0]
    """
    seen = float(facts.number.sum())
    full = edge(vocab, seen)
    held = full.share_that_hold(parameters)
    if held > 1 - 1e-6:
        return held
    below = min(parameters, _FULL * full.independent)
    while (recalled := _unfinished(vocab, below, facts)) is None:
        below *= _NEARER
    return held + (1 - held) * recalled


def _unfinished(vocab: int, parameters: float, facts: Facts) -> float | None:
    """Of the facts seen, where the loss has a minimum; none if it was not found."""
    rivals = _Rivals.of(vocab)

    def equations(point: np.ndarray) -> list[float]:
        spread, stiffness = np.exp(point)
        noise = used = 0.0
        for number, times in zip(*facts, strict=True):
            slope, taken = rivals.slope_and_taken(spread, stiffness * times)
            noise += number * (stiffness * times) ** 2 * slope
            used += number * taken
        return [math.log(noise / parameters) - 2 * point[0], math.log(used / parameters)]

    share = parameters / (edge(vocab, float(facts.number.sum())).independent)
    start = [1.0 * share, 2.0 * share - math.log(float(facts.times.mean()))]
    found = root(equations, start)
    if not found.success:
        return None
    spread, stiffness = np.exp(found.x)
    signal = stiffness / spread * facts.times
    right = ndtr(_OWN + signal[:, None]) ** (vocab - 1) @ _OWN_WEIGHT
    return float(facts.number @ right / facts.number.sum())


class _Rivals:
    """Nodes to integrate over the scores of a label, of its highest rival and of all others."""

    def __init__(self, vocab: int) -> None:
        self.top = ndtri(np.exp(np.log(_TOP) / (vocab - 1)))
        half = (self.top - _LOWEST)[:, None] / 2
        self.rest = _LOWEST + half * (_REST + 1)
        weight = half * _REST_WEIGHT * np.exp(-(self.rest**2) / 2)
        self.number = weight * ((vocab - 2) / weight.sum(axis=1, keepdims=True))

    @staticmethod
    @lru_cache(maxsize=256)
    def of(vocab: int) -> _Rivals:
        return _Rivals(vocab)

    def slope_and_taken(self, spread: float, pull: float) -> tuple[float, float]:
        """The mean square of a fact's slope over all labels, and the parameters that it takes.

        Scores z are those of the fact left out, z₀, and what it adds: z = z₀ + pull (1[label] − p),
        p their softmax. At a given log-partition λ each is found by itself, pull·p being Wright's
        ω; λ is found by Newton's rule, so that all p add up to one.
        """
        own = (spread * _OWN + pull)[:, None] + math.log(pull)
        top = spread * self.top[None, :] + math.log(pull)
        rest = spread * self.rest[None] + math.log(pull)
        peak = rest.max(axis=-1)
        others = peak + np.log((self.number * np.exp(rest - peak[..., None])).sum(axis=-1))
        partition = np.logaddexp(np.logaddexp(own, top), others) - math.log(pull)
        for _ in range(40):
            p = [
                wrightomega(own - partition) / pull,
                wrightomega(top - partition) / pull,
                wrightomega(rest - partition[..., None]) / pull,
            ]
            total = self._sum(p)
            fall = self._sum([each / (1 + pull * each) for each in p])
            step = np.log(total) * total / fall
            partition = partition + step
            if np.abs(step).max() < 1e-8:
                break
        weight = _OWN_WEIGHT[:, None] * _TOP_WEIGHT
        slope = self._sum([each**2 for each in p]) + 1 - 2 * p[0]
        soft = [each / (1 + pull * each) for each in p]
        taken = pull * (
            self._sum(soft)
            - self._sum([each**2 for each in soft])
            / (1 - pull * self._sum([a * b for a, b in zip(p, soft, strict=True)]))
        )
        return float((weight * slope).sum()), float((weight * taken).sum())

    def _sum(self, parts: list[np.ndarray]) -> np.ndarray:
        return parts[0] + parts[1] + (self.number * parts[2]).sum(axis=-1)
