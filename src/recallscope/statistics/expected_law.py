"""A test of given exponents: could these points follow such a law?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc  # type: ignore[import-untyped]

from recallscope.common.errors import ProblemError
from recallscope.statistics.power_law import Points, PowerLaw, fit_law, posterior

_NO = 0.01  # p-values below reject


@dataclass(frozen=True, kw_only=True)
class ExpectedLaw:
    """Exponents that were expected, and the joint test of them all.

    Attributes:
        exponents: those that were given.
        p_value: of points this far from them, averaged over how much points may scatter beyond
            their errors, as in the intervals of the exponents.
        others: the law of the remaining sizes, fitted with the expected exponents fixed.
    """

    exponents: dict[str, float]
    p_value: float
    others: PowerLaw

    @property
    def rejected(self) -> bool:
        """Whether points like these would be seen less than once in a hundred times."""
        return self.p_value < _NO

    def predict(self, sizes: Mapping[str, float]) -> float:
        """The logarithm of the critical size, if the expectation is true."""
        expected = sum(power * math.log(sizes[name]) for name, power in self.exponents.items())
        return self.others.predict(sizes) + expected

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return {"exponents": self.exponents, "p_value": self.p_value, "rejected": self.rejected}


def expected_law(points: Points, exponents: Mapping[str, float]) -> ExpectedLaw | None:
    """Test exponents against critical sizes, all of them at once; None if points are too few.

    >>> from recallscope.statistics.power_law import read_points
    >>> rows = [{"dim": d, "status": "ok", "value": n, "low": 0.95 * n, "high": 1.05 * n}
    ...         for d, n in ((32, 16000), (64, 4050), (96, 1760), (128, 1010), (192, 443))]
    >>> points = read_points(rows, ["dim"])
    >>> [expected_law(points, {"dim": power}).rejected for power in (-2, -1.5)]
    [False, True]
    """
    for name, power in exponents.items():
        if name not in points.names:
            raise ProblemError(
                f"an exponent of {name} is expected, and the sizes that vary are "
                f"{', '.join(points.names)}"
            )
        if isinstance(power, bool) or not math.isfinite(power):
            raise ProblemError(f"the exponent expected of {name} must be a number, not {power!r}")
    fitted = posterior(points)
    if fitted is None or not exponents:
        return None
    places = [1 + points.names.index(name) for name in exponents]
    expected = np.array([float(power) for power in exponents.values()])
    p_value = 0.0
    for weight, fit in zip(fitted.weight, fitted.fits, strict=True):
        away = fit.mean[places] - expected
        covariance = fit.covariance[np.ix_(places, places)]
        p_value += weight * chdtrc(len(places), away @ np.linalg.solve(covariance, away))
    rest = [k for k, name in enumerate(points.names) if name not in exponents]
    held = points.x[:, [place - 1 for place in places]] @ expected
    others = points._replace(
        names=tuple(points.names[k] for k in rest), x=points.x[:, rest], y=points.y - held
    )
    return ExpectedLaw(
        exponents={name: float(power) for name, power in exponents.items()},
        p_value=float(p_value),
        others=fit_law(others),
    )
