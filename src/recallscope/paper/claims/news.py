"""A news summary's law: the number of learnable examples grows as N ~ d·L."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recallscope.measurement.critical import CriticalSearch
from recallscope.paper.analysis import grouped, log_size, powers, row
from recallscope.paper.claim import Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.findings import finding_of
from recallscope.paper.intervals import extreme, moved
from recallscope.paper.series import critical_series
from recallscope.record import Status
from recallscope.results.panels import Kind, Series
from recallscope.statistics.intervals import Interval


def analyse(evidence: Evidence) -> Finding:
    batches = evidence.searches("random-long")
    capacity = evidence.searches("capacity")
    needed = powers([row(search) for search in batches], "dim", "length")
    stored = powers([row(search) for search in capacity], "dim", "length", "samples")
    misses = [_miss(needed), _miss(stored)]
    long = grouped(batches, "length")
    middle = list(long)[len(long) // 2]
    most = max(search.problem.samples for search in capacity)
    lengths = grouped([s for s in capacity if s.problem.samples == most], "length")
    return finding_of(
        "news",
        needed=needed,
        stored=stored,
        misses=misses,
        nearer=extreme(min, misses),
        middle=middle,
        most=most,
        series=[
            [critical_series("measured", long[middle]), _in_proportion(long[middle])],
            [
                *(
                    critical_series(f"L = {length}", searches)
                    for length, searches in lengths.items()
                ),
                _in_proportion(lengths[min(lengths)]),
            ],
        ],
        rows=[row(search) for search in (*batches, *capacity)],
    )


def _miss(found: dict[str, Interval]) -> Interval:
    """How far the exponent of d or L is from one, whichever is farther."""
    return extreme(max, (_size(moved(found[name], -1.0)) for name in ("dim", "length")))


def _size(interval: Interval) -> Interval:
    """The absolute value."""
    mean, low, high = interval
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return Interval(abs(mean), nearest, max(abs(low), abs(high)))


def _in_proportion(searches: Sequence[CriticalSearch]) -> Series:
    searches = [search for search in searches if search.status is Status.OK]
    logs = [log_size(search).mean for search in searches]
    dims = [float(search.problem.dim) for search in searches]
    if not logs:
        return Series("∝ d", Kind.REFERENCE, [], [])
    level = math.fsum(logs) / len(logs) - math.fsum(map(math.log, dims)) / len(dims)
    ends = [min(dims), max(dims)]
    return Series("∝ d", Kind.REFERENCE, ends, [math.exp(level) * end for end in ends])
