"""Small or large dimension, short or long sequences: N* as predicted and as observed."""

from __future__ import annotations

import math

from recallscope.measurement.critical import CriticalSearch
from recallscope.paper.analysis import (
    UNKNOWN,
    batches_by_length,
    count_shown,
    critical_series,
    factor,
    grouped,
    log_size,
    minus,
    moved,
    over_dimensions,
    row,
    shown,
    theory_series,
)
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.verdict import judge
from recallscope.plotting.panels import Picture
from recallscope.statistics.intervals import Interval

_CLOSE = 1.25


def analyse(evidence: Evidence) -> Finding:
    lengths = batches_by_length(evidence)
    short, long = lengths[min(lengths)], lengths[max(lengths)]
    ends = grouped(evidence.searches("corners"), "length")
    corners = {
        (d, at): end(ends[length], key=lambda search: search.problem.dim)
        for at, length in (("short", min(ends)), ("long", max(ends)))
        for d, end in (("small", min), ("large", max))
    }
    sizes = {corner: log_size(search) for corner, search in corners.items()}
    judgements = [
        judge(
            f"observed over predicted N*: d = {search.problem.dim}, L = {search.problem.length}",
            _over_prediction(search, sizes[corner]),
            above=1 / _CLOSE,
            below=_CLOSE,
        )
        for corner, search in corners.items()
    ] + [
        judge(
            "N* of long over short sequences, small d",
            factor(minus(sizes["small", "long"], sizes["small", "short"])),
            above=1.0,
        ),
        judge(
            "N* of small over large d, long sequences",
            factor(minus(sizes["small", "long"], sizes["large", "long"])),
            above=1.0,
        ),
    ]
    return Finding(
        judgements=judgements,
        answer="Observed over predicted batches: "
        + ", ".join(shown(each.measured) for each in judgements[: len(corners)])
        + ". Samples observed: "
        + "; ".join(f"{d} d, {at} L: {_both(search)}" for (d, at), search in corners.items())
        + ".",
        picture=Picture(
            caption="Samples needed for half of the facts at the shortest and longest sequences. "
            "What is judged are the corners, from runs of their own; the points between are there "
            "to be seen. Lines are our closed forms with nothing fitted. Bars are 95 %.",
            panels=[
                over_dimensions(
                    f"{at}: L = {searches[0].problem.length}",
                    [
                        critical_series("corners", ends[searches[0].problem.length], "dim"),
                        critical_series("in between", searches[1:-1], "dim"),
                        theory_series("predicted", searches, "dim", 0),
                    ],
                )
                for at, searches in (("short", short), ("long", long))
            ],
        ),
        rows=[
            row(search, predicted=search.theory) for search in (*corners.values(), *short, *long)
        ],
    )


def _both(search: CriticalSearch) -> str:
    predicted = "out of reach" if search.theory is None else f"{search.theory:,}"
    return f"{count_shown(factor(log_size(search)))}, predicted {predicted}"


def _over_prediction(search: CriticalSearch, log_observed: Interval) -> Interval:
    if search.theory is None:
        return UNKNOWN
    return factor(moved(log_observed, -math.log(search.theory)))


CLAIM = Claim(
    name="two-by-two",
    title="Four corners: small or large d, short or long L",
    statement="Which batch is needed depends on the corner of the plane of dimension and length: "
    "few dimensions and long sequences are the costly one, and theory says how costly each is.",
    support="In each of the four corners the observed critical sample size lies within a factor "
    f"{_CLOSE:g} of the one our closed forms predict; at small d long sequences need more samples "
    "than short ones, and for long sequences small d needs more than large d.",
    contradict="A corner that is off by more than this factor, or an order that is reversed.",
    background="The prediction is made from our own derivation, in which no constant is fitted. "
    "The searches know nothing of it.",
    sweeps=("corners", "random-short", "random-long"),
    analyse=analyse,
    plain="a small model that reads long texts needs by far the most data, and theory says "
    "beforehand how much each kind of model needs.",
)
