"""From searches for critical sizes to sizes, exponents, and how two sizes combine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit  # type: ignore[import-untyped]

from recallscope.common.grouping import grouped_by
from recallscope.measurement.critical import CriticalSearch
from recallscope.paper.intervals import UNKNOWN
from recallscope.paper.verdict import LEVEL
from recallscope.parts.axes import SIZES
from recallscope.record import Status
from recallscope.statistics.combining_power import Combination, Entry, combining_power
from recallscope.statistics.intervals import Interval
from recallscope.statistics.power_law import FitStatus, fit_law, read_points

if TYPE_CHECKING:
    from recallscope.paper.evidence import Evidence


def log_size(search: CriticalSearch, level: float = LEVEL) -> Interval:
    """The logarithm of a critical size; an end outside of the searched range is open."""
    if search.status not in (Status.OK, Status.NOT_REACHED):
        return UNKNOWN
    found = search.crossing
    start, end = found.range
    middle = min(max(found.quantile(0.5), start), end)
    # Beyond the range the curve is a guess; only that the crossing is outside is known.
    first = min(found.quantile((1 - level) / 2), middle)
    last = max(found.quantile((1 + level) / 2), middle)
    low = first if first >= start else -math.inf
    high = last if last <= end else math.inf
    if SIZES[search.quantity].grows:
        return Interval(middle, low, high)
    return Interval(-middle, -high, -low)


def row(search: CriticalSearch, **more: Any) -> dict[str, Any]:
    """A critical size as a row of a table, with the sizes of its problem; 95 % intervals."""
    problem, size = search.problem, log_size(search, 0.95)
    sizes = {
        name: None if name == search.quantity else getattr(problem, name)
        for name in ("vocab", "samples", "dim", "length", "width")
    }
    reached = search.status is Status.OK
    value, low, high = (math.exp(end) if math.isfinite(end) else None for end in size)
    return {
        **{name: value for name, value in sizes.items() if value is not None},
        "critical": search.quantity,
        "status": str(search.status),
        "value": value if reached else None,
        "low": low,
        "high": high,
        "log_mean": size.mean if reached else None,
        "log_sd": search.crossing.sd if reached else None,
        "runs": search.evaluations,
        **more,
    }


class Powers(dict[str, Interval]):
    """The exponent of each size in a critical size; `note` is a caveat for readers."""

    note = ""


def powers(rows: Sequence[Mapping[str, Any]], *names: str) -> Powers:
    """Exponents of the power law through critical sizes, with intervals of the judged level."""
    law = fit_law(read_points(rows, names), LEVEL)
    found = Powers({name: Interval(*power) for name, power in law.exponents.items()})
    if law.status is FitStatus.POOR_FIT:
        found.note = " (means over this grid: the law is curved, so another grid would give others)"
    return found


def power_within(groups: Iterable[Sequence[CriticalSearch]], name: str) -> Interval:
    """The exponent of one size in the critical size, within groups equal in all other sizes.

    Each group has a separate level, so nothing is assumed about how the groups differ. Errors are
    those of the searches, or of the residuals if these are larger.
    """
    x, y, weight, free = [], [], [], -1
    for whole in groups:
        group = [search for search in whole if search.status is Status.OK]
        if len(group) < 2:
            continue
        sd = np.array([search.crossing.sd for search in group])
        size = np.array([log_size(search).mean for search in group])
        place = np.log([float(getattr(search.problem, name)) for search in group])
        x.append(place - np.average(place, weights=sd**-2))
        y.append(size - np.average(size, weights=sd**-2))
        weight.append(sd**-2)
        free += len(group) - 1
    if free < 1:
        return UNKNOWN
    places, sizes, weights = (np.concatenate(each) for each in (x, y, weight))
    stiffness = float(weights @ places**2)
    slope = float(weights @ (places * sizes)) / stiffness
    left = float(weights @ (sizes - slope * places) ** 2) / free
    reach = stdtrit(free, (1 + LEVEL) / 2) * math.sqrt(max(left, 1.0) / stiffness)
    return Interval(slope, slope - reach, slope + reach)


def combination(searches: Sequence[CriticalSearch], rows: str, columns: str) -> Combination | None:
    """How two sizes combine in the critical size: as a product, a sum, or otherwise."""
    found = [search for search in searches if search.status is Status.OK]
    return combining_power(
        [
            Entry(
                getattr(search.problem, rows),
                getattr(search.problem, columns),
                log_size(search).mean,
                search.crossing.sd,
            )
            for search in found
        ],
        LEVEL,
    )


def grouped(searches: Sequence[CriticalSearch], name: str) -> dict[int, list[CriticalSearch]]:
    """Searches by one size of their problems, rising."""
    groups = grouped_by(searches, attrgetter(f"problem.{name}"))
    return dict(sorted(groups.items()))


def batches_by_length(evidence: Evidence) -> dict[int, list[CriticalSearch]]:
    """The critical sample sizes of random embeddings, short sequences and long, by their length."""
    return grouped(
        [*evidence.searches("random-short"), *evidence.searches("random-long")], "length"
    )
