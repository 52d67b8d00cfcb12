"""Recall of a memory at the end of training, where it is too small to store every fact.

Derived in docs/end-of-training.md. The minimum of the loss is described by two numbers. For a fact
that is left out, the scores of all labels are independent normal numbers of standard deviation
`spread`. Learning the fact moves its scores against the slope of its loss, by `stiffness` times
how often it was seen. The two are found from two equations: what facts do to each other makes the
spread, and together they use up all parameters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import as_file, files
from typing import NamedTuple

import numpy as np
from scipy.special import (  # type: ignore[import-untyped]
    ndtr,
    ndtri,
    ndtri_exp,
    wrightomega,
)

from recallscope.common.shapes import Float
from recallscope.theory.end_capacity import edge
from recallscope.theory.few_samples import poisson

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
_FEW = 0.3
_SPREAD, _STIFFNESS = (-15.0, 6.0), np.array([-30.0, 16.0])  # logarithms that are searched
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
    chosen = [place == class_number for class_number in np.unique(place)]
    number = np.array([share[members].sum() for members in chosen])
    times = np.array([(counts[members] * share[members]).sum() for members in chosen]) / number
    return Facts(vocab * number, times)


class TrainedMemory(NamedTuple):
    """A trained memory: with which probability it stores all facts, and how it fails otherwise.

    `signal` is that of a fact seen once, in standard deviations of the scores of wrong labels.
    """

    vocab: int
    stores_all: float
    signal: float

    def recall(self, times: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Of facts that were seen so often."""
        right = ndtr(_LABEL + self.signal * times[:, None]) ** (self.vocab - 1) @ _LABEL_WEIGHT
        recall: Float[np.ndarray, " n"] = self.stores_all + (1 - self.stores_all) * right
        return recall


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
    memory = trained_memory(vocab, parameters, facts, dim, blur)
    return float(facts.number @ memory.recall(facts.times) / facts.number.sum())


def trained_memory(
    vocab: int, parameters: float, facts: Facts, dim: float, blur: float = 1.0
) -> TrainedMemory:
    """The same for facts seen more or less often; its signal may be NaN."""
    full = edge(vocab, float(facts.number.sum()), dim)
    held = full._replace(spread=blur * full.spread).share_that_hold(parameters)
    if held > 0.99:
        return TrainedMemory(vocab, held, 0.0)
    # The capacity threshold is below that of independent scores, which matters near it.
    share = min(parameters / full.parameters, 1)
    below = parameters + share**_NEAR * (full.independent - full.parameters)
    return TrainedMemory(vocab, held, _signal(vocab, min(below / full.independent, _FULL), facts))


def _signal(vocab: int, share: float, facts: Facts) -> float:
    """Stiffness over spread where the loss has a minimum: at a fraction of the threshold.

    Both equations grow with the stiffness and fall with the spread, so if the solver does not find
    the point from where it starts, one bisection within another does.
    """
    from scipy.optimize import brentq, root  # type: ignore[import-untyped]

    rivals, number, times = _rivals(vocab), facts.number, facts.times
    parameters = share * float(number.sum()) * rivals.pool

    @np.errstate(all="ignore")  # a step too far has no logarithm, and is taken back
    def left(point: Sequence[float]) -> Float[np.ndarray, " 2"]:
        spread, stiffness = np.exp(point)
        slope, taken = rivals.slope_and_taken(spread, stiffness * times)
        noise = number @ ((stiffness * times) ** 2 * slope)
        logarithms: Float[np.ndarray, " 2"] = np.log(
            [noise / parameters, number @ taken / parameters]
        )
        return logarithms - [2 * point[0], 0]

    def stiffness(spread: float) -> float:
        return float(brentq(lambda trial: left((spread, trial))[1], *(usual + _STIFFNESS)))

    # How often a fact is seen that is just stored, if those seen most often are.
    often = np.argsort(-times)
    last = np.searchsorted(np.cumsum(number[often]), share * number.sum())
    usual = -math.log(times[often][min(int(last), len(times) - 1)])
    start = [share, 2 * share]
    if (per_fact := share * rivals.pool) < _FEW:  # parameters, so few that slopes are one
        start = [math.log(per_fact) / 2, math.log(per_fact)]
    point = root(left, np.add(start, [0, usual]), options={"xtol": 1e-7}).x
    if not np.abs(left(point)).max() < _SOLVED:
        try:
            spread = brentq(lambda trial: left((trial, stiffness(trial)))[0], *_SPREAD)
        except ValueError:  # no change of sign
            return math.nan
        point = np.array([spread, stiffness(spread)])
    return float(np.exp(point[1] - point[0])) if np.abs(left(point)).max() < _SOLVED else math.nan


def rival_draws(top: int = _TOP) -> np.ndarray:
    """Even draws of a label and of its highest rivals, each between 0 and 1.

    They are Sobol's. The usual ones are kept in a file, as importing their maker takes a second.
    """
    if top == _TOP:
        with as_file(files("recallscope.theory") / "rival_draws.npy") as path:
            return np.load(path)
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
            above = [np.maximum(scores - level, 0) for scores in (self.top, self.rest)]
            too_low = own + self._sum([zero, *above]) > level
            low, high = np.where(too_low, level, low), np.where(too_low, high, level)
        squares = [(level - own) ** 2, *(excess**2 for excess in above)]
        return float(self._sum(squares).mean())

    def slope_and_taken(
        self, spread: float, pulls: Float[np.ndarray, " n"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """The mean square of facts' slopes over all labels, and the parameters that each takes.

        Scores z are those of the fact left out, z₀, and what it adds: z = z₀ + pull (1[label] − p),
        p their softmax. At a given log-partition each p is found by itself, as pull·p is Wright's
        ω. Newton's rule then finds the partition at which all p add up to one.
        """
        pull = pulls[:, None, None]
        scores = [spread * self.own[:, None] + pull, spread * self.top, spread * self.rest]
        shifted = [score + np.log(pull) for score in scores]
        peak = np.maximum(scores[0], scores[1][:, :1])
        partition = peak + np.log(self._sum([np.exp(score - peak) for score in scores]))
        low, high = partition - pull, partition
        # If the label has nearly all of it, what the others have is the label's rise over the pull.
        own, top = scores[0] - pull, scores[1][:, :1]
        others = top + np.log(
            self._sum([np.zeros_like(top), *(np.exp(score - top) for score in scores[1:])])
        )
        rise = np.maximum(others - own + np.log(pull), 1.0)
        rise = np.maximum(others - own + np.log(pull / rise), 1.0)
        partition = np.clip(others + np.log(pull / rise), low, high)
        for _ in range(_MOST_STEPS):
            p = [wrightomega(score - partition) / pull for score in shifted]
            soft = [probability / (1 + pull * probability) for probability in p]
            total = self._sum(p)
            low, high = (
                np.where(total > 1, partition, low),
                np.where(total > 1, high, partition),
            )
            step = np.log(total) * total / self._sum(soft)
            # Newton's rule may go back and forth: a step beyond what is known is halved.
            beyond = (partition + step < low) | (partition + step > high)
            step = np.where(beyond, (low + high) / 2 - partition, step)
            partition = partition + step
            if np.abs(step).max() < 1e-8:
                break
        slope = self._sum([probability**2 for probability in p]) + 1 - 2 * p[0]
        # tr (I − ∂z/∂z₀), as diag(1 + pull·p) − pull·p pᵀ is inverted by hand.
        taken = pull * (
            self._sum(soft) - self._sum([softened**2 for softened in soft]) / self._sum(soft)
        )
        return slope.mean(axis=(1, 2)), taken.mean(axis=(1, 2))

    def _sum(self, parts: list[np.ndarray]) -> np.ndarray:
        own, top, rest = parts
        return (
            own + top.sum(axis=-1, keepdims=True) + (self.number * rest).sum(axis=-1, keepdims=True)
        )


_rivals = lru_cache(maxsize=64)(_Rivals)
