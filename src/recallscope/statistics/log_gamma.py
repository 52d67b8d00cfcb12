"""The logarithm of Γ over grids of points: where nearly all the time of a posterior is spent."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from recallscope.common.shapes import Float

_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680)  # of ln Γ(x), for 1/x with exponents 1, 3, 5, 7
_SHIFT = 6  # from here on four terms are enough; Γ(x) = Γ(x + 6) / (x (x + 1) … (x + 5))
_TWO_TERMS, _ONE_TERM = 40, 700  # from here on so many are enough


def add_log_gamma(
    total: Float[np.ndarray, " *grid"],
    times: float,
    known: Float[np.ndarray, " *grid"],
    count: float,
    spare: Iterable[Float[np.ndarray, " *grid"]],
) -> None:
    """Add times · (ln Γ(x) + x − ln √2π) to the total, for x = known + count.

    The likelihood of a Beta-binomial law takes three for each outcome and three without, in which
    what is added to ln Γ cancels. Only the terms of Stirling's series above 1e-10 are used, and
    hardly an array is made. The posterior of 4, 16 and 64 seeds takes 1.8, 2.2 and 2.4 times as
    long with `gammaln`.

    Args:
        total: what is added to, in place.
        times: a factor.
        known: above 0.
        count: at least 0.
        spare: three arrays of the same shape, which are overwritten.

    >>> from scipy.special import gammaln
    >>> total, known = np.zeros(2), np.array([0.01, 3.0])
    >>> add_log_gamma(total, 1, known, 8, np.empty((3, 2)))
    >>> x = known + 8
    >>> bool(np.allclose(total, gammaln(x) + x - np.log(2 * np.pi) / 2, rtol=1e-11))
    True
    """
    result, x, inverse = spare
    shifted = count if count >= _SHIFT else count + _SHIFT
    np.add(known, shifted, out=x)
    np.log(x, out=result)
    np.divide(1, x, out=inverse)
    x -= 0.5
    result *= x
    if shifted < _ONE_TERM:
        terms = _STIRLING[: 4 if shifted < _TWO_TERMS else 2]
        square = np.multiply(inverse, inverse, out=x)
        series = square * terms[-1]
        for term in terms[-2:0:-1]:
            series += term
            series *= square
        series += terms[0]
        inverse *= series
    else:
        inverse *= _STIRLING[0]
    result += inverse
    if count < _SHIFT:
        np.add(known, count, out=x)
        result -= np.log(_rising(x))
        result -= _SHIFT
    if times != 1:
        result *= times
    total += result


def _rising(x: Float[np.ndarray, " *grid"]) -> Float[np.ndarray, " *grid"]:
    """x (x + 1) … (x + 5), as y (y + 4) (y + 6) with y = x (x + 5)."""
    y = x + 5
    y *= x
    product = y + 4
    product *= y
    y += 6
    product *= y
    return product
