"""What a memory recalls at the end of training, where it is too small to store every fact.

Derived in docs/end-of-training.md. The minimum of the loss is described by two numbers. For a fact
that is left out, the scores of all labels are independent normal numbers of standard deviation
`spread`. Learning the fact moves its scores against the slope of its loss, by `stiffness` times
how often it was seen. The two are found from two equations: what facts do to each other makes the
spread, and together they use up all parameters.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import (  # type: ignore[import-untyped]
    ndtr,
    ndtri,
    ndtri_exp,
    wrightomega,
)

from recallscope.theory.few_samples import poisson
from recallscope.theory.memory_edge import edge

_LABEL, _LABEL_WEIGHT = np.polynomial.hermite_e.hermegauss(32)
_LABEL_WEIGHT = _LABEL_WEIGHT / _LABEL_WEIGHT.sum()
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_LOWEST = -5.5
_TOP = 16
_LOG_DRAWS = 7
_MOST_STEPS = 60
_MOST_CLASSES = 4
_EQUALLY = 10**6  # samples for each fact, from which on all are seen equally often
_NEAR = 3  # fitted: the exponent of parameters over their number at the capacity threshold
_FULL = 0.99  # of the threshold of independent scores: the equations are solved up to here
_FEW, _FAR, _APART = 0.05, 0.8, 0.05
_SOLVED = 1e-6  # what may be left of the logarithms of both equations


class Facts(NamedTuple):
    """How many facts were seen how often."""

    number: np.ndarray
    times: np.ndarray


def equally_often(number: float) -> Facts:
    """So many facts, none seen more often than another."""
    return Facts(np.array([float(number)]), np.array([1.0]))


def facts_seen(vocab: int, samples: float) -> Facts:
    """Facts of a batch of independent samples: Poisson numbers, in a few classes of like ones.

    >>> seen = facts_seen(256, 256)
    >>> round(float(seen.number.sum())), seen.times.round(2).tolist()
    (162, [1.0, 2.39])
    """
    if samples > _EQUALLY * vocab:
        return equally_often(vocab)
    mean = samples / vocab
    counts = np.arange(math.ceil(mean + 5 * math.sqrt(mean) + 5) + 1)
    counts, share = counts[1:], poisson(counts, np.array(mean))[1:]
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


def memory_recall(
    vocab: int, parameters: float, facts: Facts, dim: float, blur: float = 1.0
) -> float:
    """The fraction of the facts seen that a trained memory with outputs in R^d recalls.

    With a blur above one the capacity threshold is that many times as wide. NaN if the equations
    below it were not solved.

    >>> every = equally_often(1024)
    >>> [round(memory_recall(1024, dim**2, every, dim), 2) for dim in (60, 80, 96)]
    [0.1, 0.31, 1.0]
    """
    seen = float(facts.number.sum())
    full = edge(vocab, seen, dim)
    held = full._replace(spread=blur * full.spread).share_that_hold(parameters)
    if held > 0.99:
        return held
    # The capacity threshold is below that of independent scores, which matters near it.
    share = min(parameters / full.parameters, 1)
    below = parameters + share**_NEAR * (full.independent - full.parameters)
    recalled = _unfinished(vocab, min(below / full.independent, _FULL), facts)
    return held + (1 - held) * recalled


def _unfinished(vocab: int, share: float, facts: Facts) -> float:
    """Of the facts seen, where the loss has a minimum: at a fraction of the capacity threshold.

    Nearer to the threshold both numbers are larger, and the equations steeper. They are solved from
    further below it on, and those far below it from nearer on.
    """
    from scipy.optimize import root  # type: ignore[import-untyped]

    rivals, seen = _rivals(vocab), float(facts.number.sum())

    def equations(point: np.ndarray, parameters: float) -> list[float]:
        spread, stiffness = np.exp(point)
        noise = used = 0.0
        for number, times in zip(*facts, strict=True):
            slope, taken = rivals.slope_and_taken(spread, stiffness * times)
            noise += number * (stiffness * times) ** 2 * slope
            used += number * taken
        with np.errstate(all="ignore"):  # a step too far has no logarithm, and is taken back
            left = np.log([noise / parameters, used / parameters])
        return [float(left[0] - 2 * point[0]), float(left[1])]

    first = min(max(share, _FEW), _FAR)
    point = np.array([1.0, 2.0]) * first - [0, math.log(float(facts.times.mean()))]
    if share < first:  # both fall with it, in proportion
        steps = np.geomspace(first, share, 1 + math.ceil(math.log2(first / share)))
    else:
        steps = np.linspace(first, share, 1 + math.ceil((share - first) / _APART))
    for each in steps:
        found = root(equations, point, args=(each * seen * rivals.pool,))
        # The solver may call a point a success that does not solve the equations: test it.
        if not np.abs(found.fun).max() < _SOLVED:
            return math.nan
        point = found.x
    spread, stiffness = np.exp(point)
    signal = stiffness / spread * facts.times
    right = ndtr(_LABEL + signal[:, None]) ** (vocab - 1) @ _LABEL_WEIGHT
    return float(facts.number @ right / facts.number.sum())


def rival_draws(top: int = _TOP) -> np.ndarray:
    """Even draws of a label and of its highest rivals, each between 0 and 1."""
    from scipy.stats.qmc import Sobol  # type: ignore[import-untyped]

    return Sobol(1 + top, seed=0).random_base2(_LOG_DRAWS)


class _Rivals:
    """Draws of the scores of a label and of its highest rivals, and nodes for all others.

    The highest rivals decide, and vary most: they are drawn. The many others are represented by
    their mean below the last of them.
    """

    def __init__(self, vocab: int) -> None:
        top = min(_TOP, vocab - 1)
        drawn = rival_draws(top)
        self.own = ndtri(drawn[:, 0])
        # The highest of n uniform numbers has the law of u^(1/n), u uniform.
        left = vocab - 1 - np.arange(top)
        self.top = ndtri_exp(np.cumsum(np.log(drawn[:, 1:]) / left, axis=1))
        half = (self.top[:, -1:] - _LOWEST) / 2
        self.rest = _LOWEST + half * (_NODES + 1)
        weight = half * _WEIGHTS * np.exp(-(self.rest**2) / 2)
        self.number = weight * ((vocab - 1 - top) / weight.sum(axis=1, keepdims=True))
        self.pool = self._mean_pool()

    def _mean_pool(self) -> float:
        """As `label_pool.pool`, of these draws: their squared distance from the cone."""
        own, zero = self.own[:, None], np.zeros_like(self.own[:, None])
        low, high = own, np.maximum(own, self.top[:, :1])
        for _ in range(40):
            level = (low + high) / 2
            above = [np.maximum(each - level, 0) for each in (self.top, self.rest)]
            too_low = own + self._sum([zero, *above]) > level
            low, high = np.where(too_low, level, low), np.where(too_low, high, level)
        squares = [(level - own) ** 2, *(each**2 for each in above)]
        return float(self._sum(squares).mean())

    def slope_and_taken(self, spread: float, pull: float) -> tuple[float, float]:
        """The mean square of a fact's slope over all labels, and the parameters that it takes.

        Scores z are those of the fact left out, z₀, and what it adds: z = z₀ + pull (1[label] − p),
        p their softmax. At a given log-partition each p is found by itself, as pull·p is Wright's
        ω. Newton's rule then finds the partition at which all p add up to one.
        """
        scores = [spread * self.own[:, None] + pull, spread * self.top, spread * self.rest]
        shifted = [each + math.log(pull) for each in scores]
        peak = np.maximum(scores[0], scores[1][:, :1])
        partition = peak + np.log(self._sum([np.exp(each - peak) for each in scores]))
        for _ in range(_MOST_STEPS):
            p = [wrightomega(each - partition) / pull for each in shifted]
            soft = [each / (1 + pull * each) for each in p]
            total = self._sum(p)
            step = np.log(total) * total / self._sum(soft)
            partition = partition + step
            if np.abs(step).max() < 1e-8:
                break
        slope = self._sum([each**2 for each in p]) + 1 - 2 * p[0]
        # tr (I − ∂z/∂z₀), as diag(1 + pull·p) − pull·p pᵀ is inverted by hand.
        taken = pull * (self._sum(soft) - self._sum([each**2 for each in soft]) / self._sum(soft))
        return float(slope.mean()), float(taken.mean())

    def _sum(self, parts: list[np.ndarray]) -> np.ndarray:
        own, top, rest = parts
        return (
            own + top.sum(axis=1, keepdims=True) + (self.number * rest).sum(axis=1, keepdims=True)
        )


_rivals = lru_cache(maxsize=64)(_Rivals)
