"""How likely outcomes are, given the mean accuracy at their size and the spread between seeds.

A posterior needs this at thousands of points of a grid. For the runs of one size it depends on two
numbers only: how far the mean is from the target, in logits, and the spread. So it is worked out at
few nodes along the first and read off polynomials between them, to about 1e-8.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import expit, gammaln, logit  # type: ignore[import-untyped]

from recallscope.common.shapes import Float

_TINY = 1e-7  # the least of a mean or a variance: logarithms of both are finite
_MISTRUST = 0.3  # of the line: standard error of a logit, over its distance from target

_LAST_MEAN = float(logit(1 - _TINY))  # no mean is nearer to 0 or 1
_NEAR = 0.02 * 3.0 ** np.arange(5)
_FAR = 2.0 ** np.arange(1, 13)
_NODES = chebyshev.chebpts1(16)
_TO_SERIES = np.linalg.inv(chebyshev.chebvander(_NODES, len(_NODES) - 1))


class Runs(NamedTuple):
    """Outcomes: the logarithm of the size, the fraction that was right, and of how many tests."""

    x: Float[np.ndarray, " runs"]
    rate: Float[np.ndarray, " runs"]
    tests: Float[np.ndarray, " runs"]


class OutcomeTables:
    """The logarithm of the likelihood of runs, size by size, for some spreads between seeds.

    `sizes` has the logarithm of each size that was run.

    >>> runs = Runs(np.array([1.0, 2.0]), np.array([0.25, 0.75]), np.array([8.0, 8.0]))
    >>> tables = OutcomeTables(runs, logit(0.5), np.array([0.01]))
    >>> log_likelihood = tables.read(1, np.array([[-1.0, 1.0]]))
    >>> bool(log_likelihood[0, 0, 1] > log_likelihood[0, 0, 0])
    True
    """

    def __init__(self, runs: Runs, target: float, spread: Float[np.ndarray, " r"]) -> None:
        outcomes = np.stack([runs.x, runs.rate * runs.tests, runs.tests])
        (x, self._right, self._tests), self._times = np.unique(outcomes, axis=1, return_counts=True)
        self.sizes, self._first = np.unique(x, return_index=True)
        self.spread = spread
        self._target = target
        self._ends = _pieces(target)
        self._middles = (self._ends[1:] + self._ends[:-1]) / 2
        self._halves = np.diff(self._ends) / 2
        self._series: dict[int, Float[np.ndarray, "sizes r nodes"]] = {}

    def read(
        self, first: int, away: Float[np.ndarray, "sizes n"]
    ) -> Float[np.ndarray, "r sizes n"]:
        """Log-likelihoods of sizes from the first on, at means so many logits from the target."""
        flat = away.ravel()
        piece = np.searchsorted(self._ends, flat).clip(1, len(self._halves)) - 1
        table = piece.reshape(away.shape) + len(self._halves) * np.arange(len(away))[:, None]
        order = np.argsort(table.ravel().astype(np.int16), kind="stable")  # table by table
        piece = piece[order]
        places = (flat[order] - self._middles[piece]) / self._halves[piece]
        basis = chebyshev.chebvander(places, len(_NODES) - 1).T
        in_order = np.empty((len(self.spread), len(flat)))
        counts = np.bincount(table.ravel())
        ends = np.cumsum(counts)
        for place in np.flatnonzero(counts).tolist():
            size, number = divmod(place, len(self._halves))
            here = slice(ends[place] - counts[place], ends[place])
            np.matmul(self._piece(number)[first + size], basis[:, here], out=in_order[:, here])
        back = np.empty_like(in_order)
        back[:, order] = in_order
        return back.reshape(-1, *away.shape)

    def _piece(self, number: int) -> Float[np.ndarray, "sizes r nodes"]:
        if number not in self._series:
            nodes = self._middles[number] + self._halves[number] * _NODES
            values = self._log_likelihood(nodes)
            self._series[number] = values @ _TO_SERIES.T
        return self._series[number]

    def _log_likelihood(self, away: Float[np.ndarray, " k"]) -> Float[np.ndarray, "sizes r k"]:
        """That of a Beta-binomial law: seeds differ, and the curve is only approximate."""
        mean = np.clip(expit(self._target + away), _TINY, 1 - _TINY)
        # The variance of a rate between seeds, in units of mean (1 − mean): the line's and theirs.
        variance = (_MISTRUST * away) ** 2 * mean * (1 - mean)
        share = np.clip(variance + self.spread[:, None] ** 2, _TINY, 0.98)
        both = 1 / share - 1
        a = mean * both
        b = both - a
        right, tests = self._right[:, None, None], self._tests[:, None, None]
        log_likelihood = gammaln(a + right) + gammaln(b + tests - right)
        counts, which = np.unique(self._tests, return_inverse=True)  # most often all the same
        log_likelihood -= gammaln(both + counts[:, None, None])[which]
        log_likelihood += gammaln(both) - gammaln(a) - gammaln(b)
        log_likelihood *= self._times[:, None, None]
        return np.add.reduceat(log_likelihood, self._first, axis=0)


def _pieces(target: float) -> Float[np.ndarray, " n"]:
    """Where polynomials end, in logits from the target.

    They are short at the target, where the mistrust sets in, and of up to 3 as far as the mean
    changes. Beyond, each is twice as long as the one before.
    """
    low, high = min(-_LAST_MEAN - target, -2.0), max(_LAST_MEAN - target, 2.0)
    left, right = (
        np.linspace(end, math.copysign(_NEAR[-1], end), 2 + int(abs(end) / 3))
        for end in (low, high)
    )
    inner = np.concatenate([left, -_NEAR[-2::-1], [0.0], _NEAR[:-1], right[::-1]])
    return np.concatenate([low * _FAR[::-1], inner, high * _FAR])
