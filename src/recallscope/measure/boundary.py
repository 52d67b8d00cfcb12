"""Where accuracies that were measured along one size cross a target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression  # type: ignore[import-untyped]
from scipy.special import logit  # type: ignore[import-untyped]

from recallscope.common.shapes import Float
from recallscope.common.status import Status
from recallscope.statistics.intervals import Interval


class Boundary(NamedTuple):
    """The y at which the measured accuracy of one column crosses the target, and its 95 % interval.

    `not_reached` if the means do not cross it within the plane; an end of None lies outside of it.
    A column without a run that is ok has the status of its runs.
    """

    status: Status
    value: float | None = None
    low: float | None = None
    high: float | None = None


def boundary(
    column: Sequence[tuple[float, Interval | None]], grows: bool, target: float, *, failed: bool
) -> Boundary:
    """Where the measured accuracy crosses the target, along sizes that rise.

    `grows` says whether accuracy rises with the size, `failed` whether runs broke off.

    The value is where the rising curve closest to the means does. The interval is where the target
    lies within the intervals of the means: no shape is assumed from end to end.
    """
    # In the order in which accuracy rises.
    ordered = column if grows else column[::-1]
    known = [(size, interval) for size, interval in ordered if interval]
    if not known:
        return Boundary(Status.FAILED if failed else Status.INFEASIBLE)
    sizes = np.array([size for size, _ in known], dtype=float)
    mean, low, high = np.array([interval for _, interval in known]).T
    near = _reaches(sizes, np.maximum.accumulate(high), target)
    middle = _reaches(sizes, isotonic_regression(mean).x, target)
    far = _reaches(sizes, np.minimum.accumulate(low[::-1])[::-1], target)
    first, last = float(sizes[0]), float(sizes[-1])
    # An end outside of the plane is not known, unless the crossing is sure to be past the other.
    ends = (
        None if near == -math.inf else last if near == math.inf else near,
        None if far == math.inf else first if far == -math.inf else far,
    )
    return Boundary(
        Status.OK if math.isfinite(middle) else Status.NOT_REACHED,
        middle if math.isfinite(middle) else None,
        *(ends if grows else ends[::-1]),
    )


def _reaches(
    sizes: Float[np.ndarray, " n"], accuracy: Float[np.ndarray, " n"], target: float
) -> float:
    """The size at which a rising accuracy reaches the target; -inf if before all, inf if never."""
    if accuracy[0] >= target:
        return -math.inf
    if accuracy[-1] < target:
        return math.inf
    after = int(np.argmax(accuracy >= target))
    # Logits over the logarithm of the size are straighter than accuracies over sizes.
    below, above = logit(np.clip(accuracy[after - 1 : after + 1], 1e-6, 1 - 1e-6)) - logit(target)
    ends = sizes[after - 1 : after + 1]
    has_logarithms = bool(ends.min() > 0)  # a field with a linear scale may be 0
    before, reached = np.log(ends) if has_logarithms else ends
    place = before + (reached - before) * below / (below - above)
    return round(float(np.exp(place) if has_logarithms else place), 3)
