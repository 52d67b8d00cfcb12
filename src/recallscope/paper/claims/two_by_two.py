"""Small or large dimension, short or long sequences: N* as predicted and as observed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recallscope.measurement.critical import CriticalSearch
from recallscope.paper.analysis import batches_by_length, grouped, log_size, row
from recallscope.paper.claim import Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.findings import finding_of
from recallscope.paper.intervals import UNKNOWN, count_shown, factor, moved, ratio, shown
from recallscope.paper.series import critical_series, theory_series
from recallscope.statistics.intervals import Interval


def analyse(evidence: Evidence) -> Finding:
    lengths = batches_by_length(evidence)
    short, long = lengths[min(lengths)], lengths[max(lengths)]
    ends = grouped(evidence.searches("corners"), "length")
    corners = {
        f"{d} d, {at} L": end(ends[length], key=lambda search: search.problem.dim)
        for at, length in (("short", min(ends)), ("long", max(ends)))
        for d, end in (("small", min), ("large", max))
    }
    between = [search for search in (*short, *long) if search.theory is not None]
    sizes = {corner: log_size(search) for corner, search in corners.items()}
    over = {corner: _over_prediction(search, sizes[corner]) for corner, search in corners.items()}
    middle = sizes["large d, long L"]
    return finding_of(
        "two-by-two",
        over=over,
        small_over_large=ratio(sizes["small d, long L"], middle),
        middle_corners=ratio(middle, sizes["small d, short L"]),
        long_over_short=ratio(middle, sizes["large d, short L"]),
        all_over=", ".join(map(shown, over.values())),
        samples="; ".join(f"{corner}: {_both(search)}" for corner, search in corners.items()),
        between=len(between),
        over_between=_extremes(between),
        short=min(lengths),
        long=max(lengths),
        series=[
            [
                critical_series("corners", ends[searches[0].problem.length]),
                critical_series("in between", searches[1:-1]),
                theory_series("predicted", searches, 0),
            ]
            for searches in (short, long)
        ],
        rows=[
            row(search, predicted=search.theory) for search in (*corners.values(), *short, *long)
        ],
    )


def _extremes(searches: Sequence[CriticalSearch]) -> str:
    ratios = [
        math.exp(log_size(search).mean) / search.theory for search in searches if search.theory
    ]
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "unknown"


def _both(search: CriticalSearch) -> str:
    predicted = "out of reach" if search.theory is None else f"{search.theory:,}"
    return f"{count_shown(factor(log_size(search)))}, predicted {predicted}"


def _over_prediction(search: CriticalSearch, log_observed: Interval) -> Interval:
    if search.theory is None:
        return UNKNOWN
    return factor(moved(log_observed, -math.log(search.theory)))
