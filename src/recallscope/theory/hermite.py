"""Random features seen through Hermite polynomials: what an activation does to overlaps.

A hidden unit with weights w ~ N(0, I) receives w·x, a Gaussian number of standard deviation |x|.
The theory needs only moments of φ(r g), g ~ N(0, 1), of an activation φ. The main ones are its
coefficients a_j(r) = E φ(r g) h_j(g) on the normalised Hermite polynomials h_j. The kernel of two
inputs with overlap ρ is Σ_j a_j(r) a_j(r') ρ^j. docs/derivation.md has them as
eq:kernel and eq:kernel-slopes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr  # type: ignore[import-untyped]

from recallscope.common.errors import ProblemError
from recallscope.common.shapes import Float

DEGREES = 10
"""Coefficients kept; overlaps are small or one half, and the series ends by itself."""

# Gauss-Legendre on each half-line: exact to rounding for smooth φ and for a kink at 0 alike.
_half, _half_weights = np.polynomial.legendre.leggauss(24)
_points = 4.5 * (_half + 1)
NODES = np.concatenate([-_points[::-1], _points])
_density = np.exp(-0.5 * NODES**2) / np.sqrt(2 * np.pi)
WEIGHTS = 4.5 * np.concatenate([_half_weights[::-1], _half_weights]) * _density


def _gelu_slope(x: Float[np.ndarray, ...]) -> Float[np.ndarray, ...]:
    return ndtr(x) + x * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)


_Function = Callable[["Float[np.ndarray, ...]"], "Float[np.ndarray, ...]"]
VALUE: dict[str, _Function] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "gelu": lambda x: x * ndtr(x),
    "tanh": np.tanh,
    "quadratic": np.square,
    "identity": lambda x: x,
    "centred-relu": lambda x: np.maximum(x, 0.0) - 1 / np.sqrt(2 * np.pi),
}
SLOPE: dict[str, _Function] = {
    "relu": lambda x: (x > 0).astype(float),
    "gelu": _gelu_slope,
    "tanh": lambda x: 1 - np.tanh(x) ** 2,
    "quadratic": lambda x: 2 * x,
    "identity": np.ones_like,
    "centred-relu": lambda x: (x > 0).astype(float),
}


def hermite_polynomials(
    x: Float[np.ndarray, " n"], degrees: int = DEGREES
) -> Float[np.ndarray, "degrees n"]:
    """The normalised polynomials h_0 … h_(degrees-1): E h_i(g) h_j(g) = 1 if i = j, else 0.

    >>> h = hermite_polynomials(NODES, 4)
    >>> bool(np.allclose((h * WEIGHTS) @ h.T, np.eye(4)))
    True
    """
    rows = [np.ones_like(x), x]
    for degree in range(1, degrees - 1):
        rows.append((x * rows[degree] - np.sqrt(degree) * rows[degree - 1]) / np.sqrt(degree + 1))
    return np.array(rows[:degrees])


_POLYNOMIALS = hermite_polynomials(NODES) * WEIGHTS


class Features(NamedTuple):
    """Moments of φ(r g): the coefficients a_j(r) in the last axis, and four expectations."""

    coefficients: Float[np.ndarray, "*n degrees"]
    square: Float[np.ndarray, "*n"]  # E φ²
    square_slope: Float[np.ndarray, "*n"]  # d/d(r²) of it
    slope_square: Float[np.ndarray, "*n"]  # E φ'²
    value_times_slope: Float[np.ndarray, "*n"]  # E φ φ'


def features(activation: str, radius: Float[np.ndarray, "*n"] | float) -> Features:
    """The moments of an activation at inputs of a given length.

    >>> relu = features("relu", 1.0)
    >>> relu.coefficients[:3].round(4)      # 1/√(2π), 1/2, 1/√(4π)
    array([0.3989, 0.5   , 0.2821])
    >>> relu.square.round(6), relu.slope_square.round(6)
    (np.float64(0.5), np.float64(0.5))
    """
    radius = np.asarray(radius, dtype=float)
    if activation not in VALUE:
        raise ProblemError(f"activation must be one of {', '.join(VALUE)}, not {activation!r}")
    if not np.all(radius > 0):
        raise ProblemError("a radius must be positive")
    if activation == "identity":  # attention alone, half of all questions
        one, nothing = np.ones_like(radius), np.zeros_like(radius)
        linear = radius[..., None] * np.eye(DEGREES)[1]
        return Features(linear, radius**2, one, one, nothing)
    inputs = radius[..., None] * NODES
    value = VALUE[activation](inputs)
    slope = SLOPE[activation](inputs)
    square = value * value
    coefficients = value @ _POLYNOMIALS.T
    # Coefficients that should be 0 are so up to rounding.
    scale = np.sqrt(square @ WEIGHTS)[..., None]
    coefficients[np.abs(coefficients) < 1e-13 * scale] = 0
    return Features(
        coefficients=coefficients,
        square=square @ WEIGHTS,
        square_slope=square @ (WEIGHTS * (NODES**2 - 1)) / (2 * radius**2),
        slope_square=(slope * slope) @ WEIGHTS,
        value_times_slope=(value * slope) @ WEIGHTS,
    )


class UnitConstants(NamedTuple):
    """The moments of an activation that reading a stored token takes; inputs have length 1."""

    coefficients: Float[np.ndarray, " degrees"]
    square: float  # κ(1) = E φ²
    square_slope: float
    log_slopes: Float[np.ndarray, " 3"]  # d/d(r²) of log a_0, log a_1, log a_2
    signal_variance: float  # of φ² - a_0 φ
    signal_with_norm: float  # covariance of φ² - a_0 φ and φ²
    norm_variance: float  # of φ²
    third: float  # E φ³ · E (φ - a_0)³
    fourth: float  # E φ⁴ · E (φ - a_0)⁴ - 3 (E φ² Var φ)²
    weighted: Float[np.ndarray, "3 3"]  # E φ² h_i h_j for i, j = 1, 2, 3


@cache
def unit_constants(activation: str) -> UnitConstants:
    """The constants of one activation, by quadrature.

    >>> unit_constants("relu").signal_variance.round(4), unit_constants("identity").third
    (np.float64(0.8268), 0.0)
    """
    at_one = features(activation, 1.0)
    a = at_one.coefficients
    value = VALUE[activation](NODES)
    centred = value - a[0]
    square = value**2
    signal = square - a[0] * value
    h = hermite_polynomials(NODES)[1:4]
    mean_signal, mean_square = WEIGHTS @ signal, WEIGHTS @ square
    # d a_j / d(r²) = (√((j+1)(j+2)) a_(j+2) + j a_j) / 2 at r = 1
    slopes = [(np.sqrt((j + 1) * (j + 2)) * a[j + 2] + j * a[j]) / 2 for j in range(3)]
    return UnitConstants(
        coefficients=a,
        square=mean_square,
        square_slope=float(at_one.square_slope),
        log_slopes=np.array(
            [s / c if abs(c) > 1e-9 else 0.0 for s, c in zip(slopes, a, strict=False)]
        ),
        signal_variance=WEIGHTS @ signal**2 - mean_signal**2,
        signal_with_norm=WEIGHTS @ (signal * square) - mean_signal * mean_square,
        norm_variance=WEIGHTS @ square**2 - mean_square**2,
        third=round(float((WEIGHTS @ value**3) * (WEIGHTS @ centred**3)), 12),
        fourth=(WEIGHTS @ value**4) * (WEIGHTS @ centred**4)
        - 3 * (mean_square * (WEIGHTS @ centred**2)) ** 2,
        weighted=(h * square * WEIGHTS) @ h.T,
    )


class MarkedConstants(NamedTuple):
    """The same for tokens that carry the trigger: inputs z + t of length √2, overlap one half."""

    square: float  # κ(1)
    mean: float  # κ of two different tokens
    bare_mean: float  # κ of one token with another that does not carry the trigger
    overlap_slope: float  # ∂κ by the overlap
    overlap_curvature: float
    length_slope: float  # ∂κ by the squared length of one input
    mlp_variance: float  # m times the variance of a kernel of m units over the tokens
    signal_variance: float  # m times the variance of κ(1) - mean over the tokens


@cache
def marked_constants(activation: str) -> MarkedConstants:
    """The constants of one activation when all inputs have the trigger in common.

    >>> marked_constants("identity").square, marked_constants("identity").mean.round(6)
    (np.float64(2.0), np.float64(1.0))
    """
    a = features_to_degree(activation, np.sqrt(2.0), 40)
    degree = np.arange(40)
    slope = a[1:] * np.sqrt(degree[1:] / 2)
    curve = a[2:] * np.sqrt(degree[1:-1] * degree[2:]) / 2
    half = 0.5**degree
    # Given what the trigger sends to a hidden unit, its tokens are independent.
    value = VALUE[activation](NODES[:, None] + NODES)
    mean = value @ WEIGHTS
    square = value**2 @ WEIGHTS
    signal = value**2 - value * mean[:, None]
    kappa_one, kappa_mean = WEIGHTS @ square, WEIGHTS @ mean**2
    return MarkedConstants(
        square=kappa_one.round(12),
        mean=kappa_mean,
        bare_mean=float(a[0] * (WEIGHTS @ VALUE[activation](NODES))),
        overlap_slope=float((slope**2 * half[:-1]).sum()),
        overlap_curvature=float((curve**2 * half[:-2]).sum()),
        length_slope=float(0.5 * (curve * a[:-2] * half[:-2]).sum()),
        mlp_variance=WEIGHTS @ (square * (square - mean**2)),
        signal_variance=WEIGHTS @ (signal**2 @ WEIGHTS) - (kappa_one - kappa_mean) ** 2,
    )


def features_to_degree(activation: str, radius: float, degrees: int) -> Float[np.ndarray, " n"]:
    """Coefficients a_0 … a_(degrees-1) on a finer rule, for series at overlaps that are not small.

    >>> features_to_degree("quadratic", 1.0, 4).round(6) + 0.0
    array([1.      , 0.      , 1.414214, 0.      ])
    """
    half, weights = np.polynomial.legendre.leggauss(200)
    x = np.concatenate([-6 * (half[::-1] + 1), 6 * (half + 1)])
    w = 6 * np.concatenate([weights[::-1], weights]) * np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)
    return hermite_polynomials(x, degrees) @ (w * VALUE[activation](radius * x))


def kernel(activation: str, overlap: float, degrees: int = 40) -> float:
    """κ(ρ) = E φ(g) φ(g') for unit inputs of overlap ρ.

    >>> round(kernel("quadratic", 0.5), 6)          # 1 + 2 ρ²
    1.5
    """
    if not abs(overlap) <= 1:
        raise ProblemError(f"an overlap is between -1 and 1, not {overlap:g}")
    a = features_to_degree(activation, 1.0, degrees)
    return float((a**2 * overlap ** np.arange(degrees)).sum())
