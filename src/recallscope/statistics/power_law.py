"""Power laws: how a critical size goes with the other sizes, and whether it does so at all.

    log size* = constant + Σ exponent · log(other size) + scatter

Each critical size has its own error. What is left beyond the errors is scatter, which has a
posterior and is summed out. If the points do not follow a power law, intervals are wider and the
status is `poor_fit`. A target not reached within the range says that the critical size lies beyond
it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, isotonic_regression  # type: ignore[import-untyped]
from scipy.special import chdtrc, fdtrc, log_ndtr, ndtr  # type: ignore[import-untyped]

from recallscope.common.arrays import Column, Table
from recallscope.common.errors import ProblemError
from recallscope.common.plain import finite, plain
from recallscope.common.shapes import Bool, Float

_SCATTERS = np.concatenate([[0.0], np.geomspace(0.1, 30, 29)])  # in units of the typical error
_NO = 0.01  # a p-value below which a law is refused
_TWO_SIDED_95 = 2 * 1.959964


class FitStatus(StrEnum):
    """Whether to believe a law.

    >>> print(FitStatus.POOR_FIT.advice)
    Points miss the law by more than their errors; narrow the ranges, or look at the residuals.
    """

    OK = "ok"
    POOR_FIT = "poor_fit"
    UNDETERMINED = "undetermined"

    @property
    def advice(self) -> str:
        """One sentence on what it means and what to do about it."""
        return _ADVICE[self]


_ADVICE = {
    FitStatus.OK: "A power law is not rejected: its p-value is 0.01 or more.",
    FitStatus.POOR_FIT: (
        "Points miss the law by more than their errors; narrow the ranges, or look at the "
        "residuals."
    ),
    FitStatus.UNDETERMINED: (
        "Too few critical sizes were reached; add values to each axis, or widen the range searched."
    ),
}


class Points(NamedTuple):
    """Logarithms of the sizes and of the critical one, the error of this, and if it is a bound.

    A bound is a size that the critical one lies above (+1) or below (-1); 0 is a measured one.
    """

    names: tuple[str, ...]
    x: Float[np.ndarray, "points sizes"]
    y: Float[np.ndarray, " points"]
    error: Float[np.ndarray, " points"]
    bound: Float[np.ndarray, " points"]


class Exponent(NamedTuple):
    """An exponent and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Separable:
    """The rival law, in which the critical size does not depend on these sizes at all.

    `p_value` is the probability of a difference as large as seen if the rival were true (an F test
    of reached points). Below 1 % it is rejected.
    """

    names: tuple[str, ...]
    p_value: float
    rejected: bool


@dataclass(frozen=True, kw_only=True)
class PowerLaw:
    """A fitted power law.

    `p_value` is the probability of points as far from the law as these, if only their errors were
    at work (a χ² test). Below 1 % the status is `poor_fit`. `scatter` is the standard deviation
    beyond errors.
    """

    status: FitStatus
    exponents: dict[str, Exponent]
    constant: float
    scatter: float
    p_value: float
    reached: int
    bounds: int
    separable: Separable | None

    def predict(self, sizes: Mapping[str, float]) -> float:
        """The logarithm of the critical size at other sizes."""
        return self.constant + sum(
            power.value * math.log(sizes[name]) for name, power in self.exponents.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        fields = finite(plain(vars(self)))
        goodness = {name: fields.pop(name) for name in ("p_value", "reached", "bounds")}
        last = {"goodness": goodness, "separable": fields.pop("separable")}
        return {"status": fields.pop("status"), "advice": self.status.advice, **fields, **last}


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def check_positive(what: str, value: object) -> None:
    """Raise unless the value has a logarithm."""
    if not _is_finite(value) or not float(value) > 0:  # type: ignore[arg-type]
        raise ProblemError(f"{what} must be a number above 0, not {value!r:.60}")


def read_points(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Points:
    """Points of a law from rows with sizes, status, and the critical size with its interval.

    A row that is `ok` has `log_mean` and `log_sd`, or `value`, `low` and `high`; one that is
    `not_reached` has the one end that is known. Failed and infeasible ones are no evidence.

    >>> row = {"dim": 64, "status": "ok", "value": 900, "low": 800, "high": 1000}
    >>> points = read_points([row, {"dim": 32, "status": "not_reached", "low": 4096}], ["dim"])
    >>> points.bound.tolist(), round(float(points.error[0]), 3)
    ([0.0, 1.0], 0.057)
    """
    x, y, error, bound = [], [], [], []
    for number, row in enumerate(rows, start=1):
        missing = [name for name in (*names, "status") if row.get(name) is None]
        if missing:
            raise ProblemError(f"row {number} has no {' and no '.join(missing)}")
        for name in (*names, "value", "low", "high", "log_sd"):
            if row.get(name) is not None:
                check_positive(f"{name} of row {number}", row[name])
        low, high = row.get("low"), row.get("high")
        if row["status"] == "ok":
            if row.get("log_mean") is not None and row.get("log_sd"):
                if not _is_finite(row["log_mean"]):
                    raise ProblemError(
                        f"log_mean of row {number} must be a number, not {row['log_mean']!r:.60}"
                    )
                y.append(float(row["log_mean"]))
                error.append(float(row["log_sd"]))
            elif row.get("value") and low and high and low < high:
                y.append(math.log(row["value"]))
                # The quotient by an end next to zero would be infinite.
                error.append(math.log(min(high / low, 1e300)) / _TWO_SIDED_95)
            else:
                raise ProblemError(
                    f"row {number} is ok and needs log_mean and log_sd, or value, low and high"
                )
            bound.append(0.0)
        elif row["status"] == "not_reached":
            if low is None and high is None:
                continue  # too few runs to bound anything
            if low is not None and high is not None:
                raise ProblemError(f"row {number} is not_reached and has low or high, not both")
            end, above = (low, 1.0) if low is not None else (high, -1.0)
            y.append(math.log(float(end or 0)))
            error.append(0.0)
            bound.append(above)
        elif row["status"] in ("failed", "infeasible"):
            continue
        else:
            raise ProblemError(
                f"the status of row {number} is {row['status']!r:.60}; expected ok, not_reached, "
                "infeasible or failed"
            )
        x.append([math.log(row[name]) for name in names])
    shape = (len(y), len(names))
    return Points(
        tuple(names), np.array(x).reshape(shape), np.array(y), np.array(error), np.array(bound)
    )


def fit_law(points: Points, confidence: float = 0.95) -> PowerLaw:
    """Fit a power law to critical sizes; the confidence is that of the exponents' intervals.

    >>> rows = [{"dim": d, "status": "ok", "value": n, "low": 0.95 * n, "high": 1.05 * n}
    ...         for d, n in ((32, 16000), (64, 4050), (96, 1760), (128, 1010), (192, 443))]
    >>> law = fit_law(read_points(rows, ["dim"]))
    >>> str(law.status), round(law.exponents["dim"].value, 1), law.separable.rejected
    ('ok', -2.0, True)
    """
    reached = points.bound == 0
    count = int(reached.sum())
    fitted = posterior(points)
    if fitted is None:
        return _undetermined(points, count)
    centre, fits, weight = fitted
    unknowns = 1 + len(points.names)
    design = np.column_stack([np.ones(len(points.y)), points.x]) - centre
    typical = float(np.median(points.error[reached]))
    means = np.array([fit.mean for fit in fits])
    sds = np.sqrt(np.array([np.diag(fit.covariance) for fit in fits]))
    coefficients = weight @ means
    residual = (points.y - design @ fits[0].mean)[reached]
    p_value = float(chdtrc(count - unknowns, np.sum((residual / points.error[reached]) ** 2)))
    ends = ((1 - confidence) / 2, (1 + confidence) / 2)
    exponents = {
        name: Exponent(
            float(coefficients[k]),
            *(_quantile(share, weight, means[:, k], sds[:, k]) for share in ends),
        )
        for k, name in enumerate(points.names, start=1)
    }
    return PowerLaw(
        status=FitStatus.OK if p_value >= _NO else FitStatus.POOR_FIT,
        exponents=exponents,
        constant=float(coefficients[0] - coefficients[1:] @ centre[1:]),
        scatter=float(weight @ _SCATTERS * typical),
        p_value=p_value,
        reached=count,
        bounds=len(points.y) - count,
        separable=_separable(design[reached], points, reached) if points.names else None,
    )


class Fit(NamedTuple):
    """The best constant and exponents for a given scatter, about the middle of the points."""

    mean: Float[np.ndarray, " unknowns"]
    covariance: Float[np.ndarray, "unknowns unknowns"]
    evidence: float


class Posterior(NamedTuple):
    """The posterior of a law: a fit for each of many scatters, and how probable each is."""

    centre: Float[np.ndarray, " unknowns"]
    fits: list[Fit]
    weight: Float[np.ndarray, " fits"]


def posterior(points: Points) -> Posterior | None:
    """The fits to critical sizes over the scatter beyond errors; None if there are too few."""
    reached = points.bound == 0
    design = np.column_stack([np.ones(len(points.y)), points.x])
    unknowns = design.shape[1]
    if reached.sum() <= unknowns or np.linalg.matrix_rank(design[reached]) < unknowns:
        return None
    centre = design[reached].mean(axis=0)
    centre[0] = 0.0
    design = design - centre
    typical = float(np.median(points.error[reached]))
    fits = [_fit(design, points, scatter) for scatter in typical * _SCATTERS]
    # Flat in the scatter up to the typical error, and in its logarithm beyond.
    width = np.gradient(_SCATTERS)
    weight = np.array([fit.evidence for fit in fits])
    weight = np.exp(weight - weight.max()) * width / (1 + _SCATTERS)
    return Posterior(centre, fits, weight / weight.sum())


def _undetermined(points: Points, count: int) -> PowerLaw:
    unknown = Exponent(math.nan, -math.inf, math.inf)
    return PowerLaw(
        status=FitStatus.UNDETERMINED,
        exponents=dict.fromkeys(points.names, unknown),
        constant=math.nan,
        scatter=math.nan,
        p_value=math.nan,
        reached=count,
        bounds=len(points.y) - count,
        separable=None,
    )


def _fit(design: Table, points: Points, scatter: float) -> Fit:
    """The best law for a given scatter, by Newton's method: the likelihood is log-concave."""
    reached = points.bound == 0
    # A bound is as sharp as the scatter, or as the least error without scatter.
    error = np.where(reached, points.error, points.error[reached].min())
    sd = np.sqrt(error**2 + scatter**2)
    scaled = design[reached] / sd[reached, None]
    mean = np.linalg.lstsq(scaled, points.y[reached] / sd[reached], rcond=None)[0]
    for _ in range(100):
        value, slope, curvature = _log_likelihood(design, points, sd, mean)
        step = np.linalg.solve(curvature, slope)
        length = 1.0
        while (
            _log_likelihood(design, points, sd, mean + length * step)[0] < value - 1e-9
            and length > 1e-6
        ):
            length /= 2
        mean = mean + length * step
        if np.abs(length * step).max() < 1e-9:
            break
    value, _, curvature = _log_likelihood(design, points, sd, mean)
    _, log_determinant = np.linalg.slogdet(curvature)
    return Fit(mean, np.linalg.inv(curvature), float(value - log_determinant / 2))


def _log_likelihood(
    design: Table, points: Points, sd: Column, mean: Column
) -> tuple[float, Column, Table]:
    """Value, slope and minus the curvature, of measured points and of bounds."""
    reached = points.bound == 0
    z = (points.y - design @ mean) / sd
    outward = -points.bound * z  # of a bound: how far on the right side of it the law lies
    log_chance = log_ndtr(outward)
    ratio = np.exp(_log_density(outward) - log_chance)
    value = np.where(reached, _log_density(z) - np.log(sd), log_chance).sum()
    pull = np.where(reached, z, points.bound * ratio) / sd
    stiffness = np.where(reached, 1.0, ratio * (ratio + outward)) / sd**2
    return float(value), design.T @ pull, design.T @ (stiffness[:, None] * design)


def _log_density(z: Column) -> Column:
    """Log density of the normal law; `scipy.stats` takes twenty times as long for few points."""
    return -(z**2) / 2 - 0.5 * math.log(2 * math.pi)


def _quantile(share: float, weight: Column, mean: Column, sd: Column) -> float:
    """Of a mixture of normal laws."""
    low, high = float((mean - 12 * sd).min()), float((mean + 12 * sd).max())
    return float(brentq(lambda x: weight @ ndtr((x - mean) / sd) - share, low, high))


def _separable(design: Table, points: Points, reached: Bool[np.ndarray, " points"]) -> Separable:
    y, error = points.y[reached] / points.error[reached], points.error[reached]
    scaled = design / error[:, None]
    squares = [
        np.sum((y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2) for x in (scaled[:, :1], scaled)
    ]
    free = len(y) - design.shape[1]
    more = design.shape[1] - 1
    ratio = (squares[0] - squares[1]) / more / max(squares[1] / free, 1e-300)
    p_value = float(fdtrc(more, free, ratio))
    return Separable(names=points.names, p_value=p_value, rejected=p_value < _NO)


class Collapse(NamedTuple):
    """Whether runs of many problems lie on one curve: the rms of accuracy about a curve that rises.

    Attributes:
        raw: about one curve for all problems, against the size itself.
        law: about one curve, against the size over the critical size of the law.
        own: about one curve, against the size over each problem's own critical size.
        seeds: about a separate curve for each problem, which no collapse can take away.
    """

    raw: float
    law: float
    own: float
    seeds: float


def collapse(
    size: Column,
    rate: Column,
    problem: Column,
    law: Mapping[int, float],
    own: Mapping[int, float],
    weight: Column | None = None,
) -> Collapse:
    """How nearly the accuracy becomes one curve against N/N*.

    Args:
        size: logarithms of the sizes of the runs.
        rate: their accuracies.
        problem: a number for each run's problem.
        law: by that number, the logarithm of the critical size that the law gives.
        own: the same as it was measured.
        weight: of each, if they are means over several runs.

    >>> x = np.tile(np.linspace(-2, 2, 41), 2)
    >>> which = np.repeat([0, 1], 41)
    >>> shift = {0: 3.0, 1: 5.0}
    >>> size = x + np.array([shift[n] for n in which])
    >>> collapsed = collapse(size, 1 / (1 + np.exp(-x)), which, shift, shift)
    >>> collapsed.raw > 0.1, collapsed.law < 1e-9
    (True, True)
    """

    weight = np.ones(len(rate)) if weight is None else weight

    def left(x: Column, which: Any = slice(None)) -> float:
        """The weighted sum of squares about the best curve that rises."""
        x, y, w = x[which], rate[which], weight[which]
        # Runs at one size have the same value of the curve.
        _, place = np.unique(x, return_inverse=True)
        at_size = np.bincount(place, w)
        curve = isotonic_regression(np.bincount(place, w * y) / at_size, weights=at_size).x
        return float(np.sum(w * (y - curve[place]) ** 2))

    shifted = [size - np.array([which[int(n)] for n in problem]) for which in (law, own)]
    apart = sum(left(size, problem == n) for n in np.unique(problem))
    sums = [left(size), left(shifted[0]), left(shifted[1]), apart]
    return Collapse(*(math.sqrt(squares / weight.sum()) for squares in sums))
