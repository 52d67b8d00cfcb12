"""From critical sizes to exponents, and how two sizes combine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from scipy.special import stdtrit  # type: ignore[import-untyped]

from recallscope.common.status import Status
from recallscope.plot.grouping import grouped_by
from recallscope.statistics.combining_power import Combination, Entry, combining_power
from recallscope.statistics.intervals import Interval
from recallscope.statistics.power_law import FitStatus, fit_law, read_points
from reproduction.critical_sizes import CriticalSize
from reproduction.intervals import UNKNOWN
from reproduction.verdict import LEVEL


class Powers(dict[str, Interval]):
    """The exponent of each size in a critical size; `note` is a caveat for readers."""

    note = ""


def powers(rows: Sequence[Mapping[str, Any]], *names: str) -> Powers:
    """Exponents of the power law through critical sizes, with intervals of the judged level."""
    law = fit_law(read_points(rows, names), LEVEL)
    exponents = Powers({name: Interval(*power) for name, power in law.exponents.items()})
    if law.status is FitStatus.POOR_FIT:
        exponents.note = (
            " (means over this grid: the law is curved, so another grid would give others)"
        )
    return exponents


def power_within(groups: Iterable[Sequence[CriticalSize]], name: str) -> Interval:
    """The exponent of one size in the critical size, within groups equal in all other sizes.

    Each group has a separate level, so nothing is assumed about how the groups differ. Errors are
    those of the searches, or of the residuals if these are larger.
    """
    x, y, weight, free = [], [], [], -1
    for whole in groups:
        group = [search for search in whole if search.status is Status.OK]
        if len(group) < 2:
            continue
        sd = np.array([search.sd for search in group])
        size = np.array([search.judged.mean for search in group])
        place = np.log([float(getattr(search.problem, name)) for search in group])
        x.append(place - np.average(place, weights=sd**-2))
        y.append(size - np.average(size, weights=sd**-2))
        weight.append(sd**-2)
        free += len(group) - 1
    if free < 1:
        return UNKNOWN
    places, sizes, weights = (np.concatenate(parts) for parts in (x, y, weight))
    stiffness = float(weights @ places**2)
    slope = float(weights @ (places * sizes)) / stiffness
    left = float(weights @ (sizes - slope * places) ** 2) / free
    reach = stdtrit(free, (1 + LEVEL) / 2) * math.sqrt(max(left, 1.0) / stiffness)
    return Interval(slope, slope - reach, slope + reach)


def combination(searches: Sequence[CriticalSize], rows: str, columns: str) -> Combination | None:
    """How two sizes combine in the critical size: as a product, a sum, or otherwise."""
    reached = [search for search in searches if search.status is Status.OK]
    return combining_power(
        [
            Entry(
                getattr(search.problem, rows),
                getattr(search.problem, columns),
                search.judged.mean,
                search.sd,
            )
            for search in reached
        ],
        LEVEL,
    )


def grouped(searches: Sequence[CriticalSize], name: str) -> dict[int, list[CriticalSize]]:
    """Searches by one size of their problems, rising."""
    groups = grouped_by(searches, attrgetter(f"problem.{name}"))
    return dict(sorted(groups.items()))
