"""Whether two sizes act as a product, as a sum, or as the larger of the two: one exponent says.

Sizes of a table, such as N* at some d and L, are fitted by

    N^p = a(row) + b(column)

whatever a and b are. A product is p = 0 (the logarithm) and a sum is p = 1. The larger p is, the
more the larger of the two decides alone; their maximum is p = ∞. So p with its interval compares
all of these at once, and nothing is assumed of how N depends on either size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, least_squares, minimize_scalar  # type: ignore[import-untyped]
from scipy.special import gammaincinv  # type: ignore[import-untyped]

from recallscope.common.arrays import Column, Table
from recallscope.statistics.intervals import Interval

_POWERS = (-4.0, 6.0)  # beyond, exponents cannot be distinguished
_LIKE_A_MAXIMUM = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # each is fitted from where the last one ended
_SMALL = 1e-9


class Entry(NamedTuple):
    """A number of the table: its row, its column, its logarithm and the error of that."""

    row: Hashable
    column: Hashable
    log_mean: float
    log_sd: float


class Combination(NamedTuple):
    """The exponent that fits best, and how far each way to combine is from the numbers.

    `product`, `sum` and `maximum` are χ²; a product and a sum have `freedom` degrees of freedom, a
    maximum one less.
    """

    power: Interval
    product: float
    sum: float
    maximum: float
    freedom: int


def combining_power(entries: Sequence[Entry], level: float) -> Combination | None:
    """How rows and columns combine; None if there are too few numbers.

    An exponent is in the interval if its χ² exceeds the least by no more than chance would. Where
    even the best exponent fits poorly, errors are taken to be as large as what is left.

    >>> sizes = [(x, y) for x in (1.0, 2.0, 4.0, 8.0) for y in (1.0, 3.0, 9.0, 27.0)]
    >>> product = [Entry(x, y, math.log(x * y), 0.02) for x, y in sizes]
    >>> fit = combining_power(product, 0.995)
    >>> abs(fit.power.mean) < 0.01, fit.power.low < 0 < fit.power.high, fit.sum > 1000
    (True, True, True)
    >>> added = [Entry(x, y, math.log(x + y), 0.02) for x, y in sizes]
    >>> round(combining_power(added, 0.995).power.mean, 2)
    1.0
    """
    rows = {row: place for place, row in enumerate(dict.fromkeys(e.row for e in entries))}
    columns = {
        column: place for place, column in enumerate(dict.fromkeys(e.column for e in entries))
    }
    freedom = len(entries) - len(rows) - len(columns) + 1
    if freedom < 2 or min(len(rows), len(columns)) < 2:
        return None
    log = np.array([entry.log_mean for entry in entries])
    log -= log.mean()
    sd = np.array([entry.log_sd for entry in entries])
    design = np.zeros((len(entries), len(rows) + len(columns)))
    for at, entry in enumerate(entries):
        design[at, rows[entry.row]] = design[at, len(rows) + columns[entry.column]] = 1.0

    def misfit(power: float) -> float:
        return _additive(design, log, sd, power)

    best = float(minimize_scalar(misfit, bounds=_POWERS, method="bounded").x)
    least = misfit(best)
    allowed = least + 2 * float(gammaincinv(0.5, level)) * max(1.0, least / (freedom - 1))
    low, high = (_where(misfit, allowed, best, end) for end in _POWERS)
    return Combination(
        power=Interval(best, low, high),
        product=misfit(0.0),
        sum=misfit(1.0),
        maximum=_maximum(design, len(rows), log, sd),
        freedom=freedom,
    )


def _additive(design: Table, log: Column, sd: Column, power: float) -> float:
    """χ² of the best a and b for one exponent."""
    value = log if abs(power) < _SMALL else np.expm1(power * log) / power
    weight = np.exp(-power * log) / sd  # an error of the logarithm, carried over
    parts = np.linalg.lstsq(design * weight[:, None], value * weight, rcond=None)[0]
    left = (value - design @ parts) * weight
    return float(left @ left)


def _maximum(design: Table, rows: int, log: Column, sd: Column) -> float:
    """χ² of max(f(row), g(column)), the limit of sums with ever higher exponents."""
    of_row, of_column = design[:, :rows].argmax(axis=1), design[:, rows:].argmax(axis=1)
    parts = np.linalg.lstsq(design, log, rcond=None)[0]

    def left(parts: np.ndarray, power: float) -> np.ndarray:
        f, g = parts[:rows][of_row], parts[rows:][of_column]
        combined = np.maximum(f, g)
        if math.isfinite(power):
            combined = np.logaddexp(power * f, power * g) / power
        return np.asarray((log - combined) / sd)

    for power in _LIKE_A_MAXIMUM:
        parts = least_squares(left, parts, args=(power,), max_nfev=200).x
    return float((left(parts, math.inf) ** 2).sum())


def _where(misfit: Callable[[float], float], allowed: float, best: float, end: float) -> float:
    """Where χ² has grown to what is allowed, from the best exponent on; unknown beyond the end."""
    if misfit(end) <= allowed:
        return math.copysign(math.inf, end)
    return float(brentq(lambda power: misfit(power) - allowed, best, end))
