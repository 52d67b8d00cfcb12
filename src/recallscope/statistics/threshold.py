"""Where an accuracy crosses a target, from runs at many sizes: a posterior, not a point.

A run at size N answers so many of its tests right. Seeds differ: their rates at one size follow a
Beta law about a mean that rises with x = log N, and the crossing c is where the mean is the target:

    logit mean(x) = logit target + g(slope · (x − c))

The curve g is a straight line that may bend towards a ceiling above the target or a floor below it.
No real curve has just this shape, so the line is trusted less the further it is followed: its
variance grows with the distance from the crossing. Slope, bend and spread between seeds are summed
out on a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, logit  # type: ignore[import-untyped]

from recallscope.problem import ProblemError
from recallscope.record import Status, check_target
from recallscope.statistics.log_gamma import add_log_gamma

if TYPE_CHECKING:
    from jaxtyping import Float

_SLOPES = (0.15, 40.0)  # logits per unit of log size
_BENDS = np.array([-2.0, -0.7, 0.0, 0.7, 2.0])  # one over the logits from the target to a plateau
_BEND_WEIGHTS = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
_TINY = 1e-7  # the least of a mean or a variance, so that logarithms of both are good numbers
_MISTRUST = 0.3  # of the line: standard error of a logit, as a share of its distance from target
_POINTS = (48, 10, 8)  # of the grid along crossing, slope and spread
_NEGLIGIBLE = 1e-5  # of the highest weight: beyond, a region is left out of the next, finer grid
_FINE_ENOUGH = 0.7  # a grid that shrinks by less is the last
_MOST_GRIDS = 40
_OUTSIDE = 0.1  # the share of the prior on either side of the range
_THEORY_SCALE = 0.3  # of log size: what the closed forms are trusted to


class Runs(NamedTuple):
    """Outcomes: the logarithm of the size, the share that was right, and of how many tests."""

    x: Float[np.ndarray, " runs"]
    rate: Float[np.ndarray, " runs"]
    tests: Float[np.ndarray, " runs"]


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """The posterior of log size at the crossing, in cells, and the range that was searched.

    `slope` is the steepness of the curve at the crossing, in logits per unit of log size.
    """

    edges: Float[np.ndarray, " cells+1"]
    weight: Float[np.ndarray, " cells"]
    slope: float
    range: tuple[float, float]

    def quantile(self, share: float) -> float:
        """The logarithm of the size below which the crossing lies with this probability."""
        below = np.concatenate([[0], np.cumsum(self.weight)])
        return float(np.interp(share * below[-1], below, self.edges))

    @property
    def mean(self) -> float:
        """Of the logarithm of the size."""
        centres = (self.edges[1:] + self.edges[:-1]) / 2
        return float(np.average(centres, weights=self.weight))

    @property
    def sd(self) -> float:
        """Of the logarithm of the size."""
        centres = (self.edges[1:] + self.edges[:-1]) / 2
        return float(np.sqrt(np.average((centres - self.mean) ** 2, weights=self.weight)))

    @property
    def width(self) -> float:
        """Of the central 95 %, in log size."""
        return self.quantile(0.975) - self.quantile(0.025)

    @property
    def beyond(self) -> float:
        """The probability that the target is not reached within the range."""
        return self._share_above(self.range[1])

    @property
    def before(self) -> float:
        """The probability that the target is reached before the range begins."""
        return 1 - self._share_above(self.range[0])

    def _share_above(self, x: float) -> float:
        below = np.concatenate([[0], np.cumsum(self.weight)])
        return 1 - float(np.interp(x, self.edges, below) / below[-1])

    @property
    def status(self) -> Status:
        """Not reached if the crossing lies outside of the range more likely than not."""
        return Status.NOT_REACHED if max(self.beyond, self.before) > 0.5 else Status.OK


def locate(
    runs: Runs, target: float, low: float, high: float, theory: float | None = None
) -> Crossing:
    """The posterior of the crossing from runs whose accuracy rises with x.

    Args:
        runs: the outcomes; a run that failed must not be among them.
        target: the accuracy to cross, between 0 and 1.
        low: where the range searched begins, in log size.
        high: where it ends.
        theory: the predicted crossing, used as half of the prior; inf if it predicts none.

    >>> x = np.linspace(5, 9, 30)
    >>> rate = 1 / (1 + np.exp(-2 * (x - 7)))
    >>> found = locate(Runs(x, rate, np.full(30, 1000.0)), 0.5, low=5, high=9)
    >>> abs(found.mean - 7) < 0.1, found.sd < 0.1, found.status
    (True, True, <Status.OK: 'ok'>)
    """
    check_target(target)
    if not low < high:
        raise ProblemError(f"the range searched must rise, not go from {low} to {high}")
    margin = _margin(low, high)
    box = [(low - margin, high + margin), (np.log(_SLOPES[0]), np.log(_SLOPES[1])), (0.0, 1.0)]
    groups = _grouped(runs)
    # Finer and finer about where the posterior is. Between coarse points only a wide spread can
    # explain the data, so the spread is narrowed down last.
    narrowed = 2
    for _ in range(_MOST_GRIDS):
        edges = [np.linspace(*ends, points + 1) for ends, points in zip(box, _POINTS, strict=True)]
        crossing, slope, root = ((each[1:] + each[:-1]) / 2 for each in edges)
        spread = root**2  # finer where seeds hardly differ
        log_posterior = (
            _log_likelihood(groups, logit(target), crossing, np.exp(slope), spread)
            + _log_prior(crossing, low, high, theory)[:, None, None, None]
            + np.log(_BEND_WEIGHTS)[None, None, :, None]
            + np.log(root / (spread + 0.05))
        )
        posterior = np.exp(log_posterior - log_posterior.max()).sum(axis=2)
        weights = [posterior.sum(axis=others) for others in ((1, 2), (0, 2), (0, 1))]
        smaller = [_around(each, weight) for each, weight in zip(edges, weights, strict=True)]
        shrunk = [
            (new[1] - new[0]) / (old[1] - old[0]) for new, old in zip(smaller, box, strict=True)
        ]
        if min(shrunk[:narrowed]) > _FINE_ENOUGH:
            if narrowed == 3:
                break
            narrowed = 3
        box[:narrowed] = smaller[:narrowed]
    return Crossing(
        edges=edges[0],
        weight=weights[0],
        slope=float(np.exp(np.average(slope, weights=weights[1]))),
        range=(low, high),
    )


class _Group(NamedTuple):
    """Runs of one size: how many tests were right, of how many, and how often that was seen."""

    x: float
    right: Float[np.ndarray, " kinds"]
    tests: Float[np.ndarray, " kinds"]
    times: Float[np.ndarray, " kinds"]


def _grouped(runs: Runs) -> list[_Group]:
    groups = []
    for x in np.unique(runs.x):
        here = runs.x == x
        outcomes = np.stack([runs.rate[here] * runs.tests[here], runs.tests[here]])
        kinds, times = np.unique(outcomes, axis=1, return_counts=True)
        groups.append(_Group(float(x), kinds[0], kinds[1], times))
    return groups


def _log_likelihood(
    groups: Sequence[_Group],
    target: float,
    crossing: Float[np.ndarray, " c"],
    slope: Float[np.ndarray, " s"],
    spread: Float[np.ndarray, " r"],
) -> Float[np.ndarray, "c s bends r"]:
    total = np.zeros((len(crossing), len(slope), len(_BENDS), len(spread)))
    spare = [np.empty_like(total) for _ in range(3)]
    for group in groups:
        away = _curved(slope * (group.x - crossing)[:, None])
        mean = np.clip(expit(target + away), _TINY, 1 - _TINY)
        # The variance of a rate between seeds, in units of mean (1 − mean): the line's and theirs.
        variance = (_MISTRUST * away) ** 2 * mean * (1 - mean)
        share = np.clip(variance[..., None] + spread**2, _TINY, 0.98)
        concentration = 1 / share - 1
        a = mean[..., None] * concentration
        b = concentration - a
        empty = np.zeros_like(total)  # ln Γ(a + b) − ln Γ(a) − ln Γ(b)
        add_log_gamma(empty, 1, concentration, 0, spare)
        add_log_gamma(empty, -1, a, 0, spare)
        add_log_gamma(empty, -1, b, 0, spare)
        for tests in np.unique(group.tests):  # most often the same for all
            same = group.tests == tests
            seen = float(group.times[same].sum())
            total += seen * empty
            add_log_gamma(total, -seen, concentration, tests, spare)
            for right, times in zip(group.right[same], group.times[same], strict=True):
                add_log_gamma(total, times, a, right, spare)
                add_log_gamma(total, times, b, tests - right, spare)
    return total


def _curved(straight: Float[np.ndarray, "c s"]) -> Float[np.ndarray, "c s bends"]:
    """The line, curved towards a plateau above (a bend over 0) or below (under 0) the target."""
    line = straight[..., None]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        curved = (1 - np.exp(-_BENDS * line)) / _BENDS
    return np.where(_BENDS * line > 0, curved, line)


def _log_prior(
    crossing: Float[np.ndarray, " c"], low: float, high: float, theory: float | None
) -> Float[np.ndarray, " c"]:
    """Flat; or half flat and half about what theory says, with tails that data soon overrule."""
    margin = _margin(low, high)
    inside = (crossing >= low) & (crossing <= high)
    density = np.where(inside, (1 - 2 * _OUTSIDE) / (high - low), _OUTSIDE / margin)
    if theory is not None:
        centre = min(max(theory, low - margin / 2), high + margin / 2)
        z = (crossing - centre) / _THEORY_SCALE
        near = 0.3676 / _THEORY_SCALE * (1 + z**2 / 3) ** -2  # Student's, three degrees of freedom
        density = 0.5 * density + 0.5 * near
    return np.log(density)


def _margin(low: float, high: float) -> float:
    """How far outside of the range the crossing may be; further makes no difference."""
    return max(1.0, (high - low) / 2)


def _around(
    edges: Float[np.ndarray, " cells+1"], weight: Float[np.ndarray, " cells"]
) -> tuple[float, float]:
    """The ends of where the weight is, with a cell to spare."""
    inside = np.flatnonzero(weight > _NEGLIGIBLE * weight.max())
    first, last = max(inside[0] - 1, 0), min(inside[-1] + 2, len(edges) - 1)
    return float(edges[first]), float(edges[last])
