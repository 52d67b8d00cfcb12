"""The logarithm of Γ over grids of points: where nearly all the time of a posterior is spent."""

from __future__ import annotations

import numpy as np
from numpy.polynomial.polynomial import polyval

from recallscope.common.shapes import Float

_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680)  # of ln Γ(x), for 1/x with exponents 1, 3, 5, 7
_SHIFT = 6  # from here on four terms are enough; Γ(x) = Γ(x + 6) / (x (x + 1) … (x + 5))
_TWO_TERMS, _ONE_TERM = 40, 700  # from here on so many are enough


def log_gamma(known: Float[np.ndarray, " *grid"], count: float) -> Float[np.ndarray, " *grid"]:
    """ln Γ(x) + x − ln √2π for x = known + count; known is above 0 and the count at least 0.

    The likelihood of a Beta-binomial law takes three for each outcome and three without, in which
    what is added to ln Γ cancels. Only the terms of Stirling's series above 1e-10 are used. The
    posterior of 16 seeds takes about twice as long with `gammaln`.

    >>> from scipy.special import gammaln
    >>> x = np.array([0.01, 3.0]) + 8
    >>> exact = gammaln(x) + x - np.log(2 * np.pi) / 2
    >>> bool(np.allclose(log_gamma(x - 8, 8), exact, rtol=1e-11))
    True
    """
    x = known + (count if count >= _SHIFT else count + _SHIFT)
    inverse = 1 / x
    terms = 1 if count >= _ONE_TERM else 2 if count >= _TWO_TERMS else 4
    logarithm: np.ndarray = (x - 0.5) * np.log(x) + inverse * polyval(inverse**2, _STIRLING[:terms])
    if count < _SHIFT:
        y = (known + count) * (known + count + 5)
        logarithm -= np.log(y * (y + 4) * (y + 6)) + _SHIFT  # x (x + 1) … (x + 5)
    return logarithm
