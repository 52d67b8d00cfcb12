"""Where an accuracy crosses a target, from runs at many sizes: a posterior, not a point.

A run at size N answers so many of its tests right. Rates of seeds at one size follow a Beta law
about a mean that rises with x = log N. The crossing c is where the mean is the target:

    logit mean(x) = logit target + g(slope · (x − c))

The curve g is a straight line that may bend towards a ceiling above the target or a floor below it.
No real curve has just this shape, so the line is trusted less the further it is followed. Its
variance grows with the distance from the crossing. Slope, bend and spread between seeds are summed
out on a grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logit  # type: ignore[import-untyped]

from recallscope.common.arrays import Column
from recallscope.common.checks import check_target
from recallscope.common.errors import ProblemError
from recallscope.common.shapes import Float
from recallscope.common.status import Status
from recallscope.statistics.outcome_tables import OutcomeTables
from recallscope.statistics.outcome_tables import Runs as Runs  # part of what this file offers
from recallscope.statistics.prior import log_prior, margin_of

_SLOPES = (0.15, 40.0)  # logits per unit of log size
_BENDS = np.array([0.0, 0.7, 2.0])  # one over the logits from the target to a plateau
# A curve may bend towards a plateau below the target or above it, and is straight on the other
# side. For each such curve: the index of its bend above the target, and below it.
_ABOVE, _BELOW = np.array([0, 0, 0, 1, 2]), np.array([2, 1, 0, 0, 0])
_BEND_WEIGHTS = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
_POINTS = (48, 10, 8)  # of the grid along crossing, slope and spread
_NEGLIGIBLE = 1e-5  # of the highest weight: beyond, a region is left out of the next, finer grid
_FINE_ENOUGH = 0.7  # a grid that shrinks by less is the last
_MOST_GRIDS = 40
_AT_ONCE = 32  # sizes: memory stays small


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
        """The width of the central 95 % interval, in log size."""
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
    """The posterior of the crossing from runs with an accuracy that rises with x.

    Args:
        runs: the outcomes; a run that failed must not be among them.
        target: the accuracy to cross, between 0 and 1.
        low: where the range searched begins, in log size.
        high: where it ends.
        theory: the predicted crossing, used as half of the prior; inf if it predicts none.

    >>> x = np.linspace(5, 9, 30)
    >>> rate = 1 / (1 + np.exp(-2 * (x - 7)))
    >>> crossing = locate(Runs(x, rate, np.full(30, 1000.0)), 0.5, low=5, high=9)
    >>> abs(crossing.mean - 7) < 0.1, crossing.sd < 0.1, crossing.status
    (True, True, <Status.OK: 'ok'>)
    """
    check_target(target)
    if not low < high:
        raise ProblemError(f"the range searched must rise, not go from {low} to {high}")
    margin = margin_of(low, high)
    box = [(low - margin, high + margin), (np.log(_SLOPES[0]), np.log(_SLOPES[1])), (0.0, 1.0)]
    tables: OutcomeTables | None = None
    # Finer and finer about where the posterior is. Between coarse points only a wide spread can
    # explain the data, so the spread is narrowed down last.
    narrowed = 2
    for _ in range(_MOST_GRIDS):
        edges = [np.linspace(*ends, points + 1) for ends, points in zip(box, _POINTS, strict=True)]
        crossing, slope, root = ((grid[1:] + grid[:-1]) / 2 for grid in edges)
        spread = root**2  # finer where seeds hardly differ
        if tables is None or narrowed == 3:
            tables = OutcomeTables(runs, logit(target), spread)
        log_posterior = (
            _log_likelihood(tables, crossing, np.exp(slope))
            + log_prior(crossing, low, high, theory)[:, None, None]
            + np.log(_BEND_WEIGHTS)
            + np.log(root / (spread + 0.05))[:, None, None, None]
        )
        posterior = np.exp(log_posterior - log_posterior.max()).sum(axis=3)
        weights = [posterior.sum(axis=others) for others in ((0, 2), (0, 1), (1, 2))]
        smaller = [_around(grid, weight) for grid, weight in zip(edges, weights, strict=True)]
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


def _log_likelihood(
    tables: OutcomeTables, crossing: Column, slope: Column
) -> Float[np.ndarray, "r c s bends"]:
    points = len(crossing) * len(slope)
    total = np.zeros((len(tables.spread), points, len(_ABOVE)))
    for first in range(0, len(tables.sizes), _AT_ONCE):
        x = tables.sizes[first : first + _AT_ONCE]
        line = (slope * (x[:, None] - crossing)[..., None]).reshape(len(x), points)
        log_likelihood = tables.read(first, _curved(line).reshape(len(x), -1))
        bend = np.where(line[..., None] > 0, _ABOVE, _BELOW)
        place = len(_BENDS) * np.arange(line.size).reshape(*line.shape, 1) + bend
        total += log_likelihood.reshape(len(log_likelihood), -1)[:, place].sum(axis=1)
    return total.reshape(len(total), len(crossing), len(slope), len(_ABOVE))


def _curved(line: Float[np.ndarray, "x n"]) -> Float[np.ndarray, "x n bends"]:
    """The line as it is, and curved towards a plateau."""
    away = np.abs(line)[..., None]
    curved = -np.expm1(-_BENDS[1:] * away) / _BENDS[1:]
    both: Float[np.ndarray, "x n bends"] = np.concatenate([away, curved], axis=-1)
    both *= np.sign(line)[..., None]
    return both


def _around(edges: Column, weight: Column) -> tuple[float, float]:
    """The ends of where the weight is, with a cell to spare."""
    inside = np.flatnonzero(weight > _NEGLIGIBLE * weight.max())
    first, last = max(inside[0] - 1, 0), min(inside[-1] + 2, len(edges) - 1)
    return float(edges[first]), float(edges[last])
