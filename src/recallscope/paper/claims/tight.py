"""The lower bound is of the same order as what three steps of gradient descent need."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from recallscope.common.formatting import format_range
from recallscope.measurement.critical import CriticalSearch
from recallscope.paper.analysis import grouped, log_size, powers, row
from recallscope.paper.claim import Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.findings import finding_of
from recallscope.paper.intervals import extreme, factor, moved
from recallscope.paper.series import measured_series
from recallscope.paper.verdict import LEVEL
from recallscope.problem import Problem
from recallscope.results.panels import Kind, Series
from recallscope.statistics.intervals import Interval
from recallscope.theory.lower_bound import bound


def analyse(evidence: Evidence) -> Finding:
    searches = evidence.searches("three-steps")
    level = 1 - (1 - LEVEL) / len(searches)  # extremes of many
    ratios = [_over_bound(search, level) for search in searches]
    smallest, largest = extreme(min, ratios), extreme(max, ratios)
    rows = [_row(search) for search in searches]
    by_length = {
        f"L = {length}": [(_sizes(each), _over_bound(each, 0.95)) for each in here]
        for length, here in grouped(searches, "length").items()
    }
    return finding_of(
        "tight",
        smallest=smallest,
        largest=largest,
        range=format_range(smallest.mean, largest.mean, 2),
        left=powers(rows, "dim", "length", "vocab"),
        coverage=_coverage(searches),
        series=[
            [
                *(measured_series(*each) for each in by_length.items()),
                Series("bound", Kind.REFERENCE, [*map(_sizes, searches)], [1.0] * len(rows)),
            ]
        ],
        rows=rows,
    )


@cache
def _bound(problem: Problem, target: float) -> float:
    return bound(problem, target).samples


def _over_bound(search: CriticalSearch, level: float) -> Interval:
    return factor(moved(log_size(search, level), -math.log(_bound(search.problem, search.target))))


def _row(search: CriticalSearch) -> dict[str, Any]:
    """A critical size; a law is fitted to its ratio to the bound."""
    known = row(search, bound=_bound(search.problem, search.target))
    if known["log_mean"] is not None:
        known["log_mean"] -= math.log(known["bound"])
    return known


def _coverage(searches: list[CriticalSearch]) -> str:
    """The bound by facts never seen, over the measured size."""
    ratios = [
        search.problem.vocab * math.log(1 / (1 - search.target)) / math.exp(log_size(search).mean)
        for search in searches
        if not math.isnan(log_size(search).mean)
    ]
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "an unknown fraction"


def _sizes(search: CriticalSearch) -> str:
    return f"{search.problem.vocab}, {search.problem.dim}"
