"""Small or large dimension, short or long sequences: N* as predicted and as observed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from recallscope.plot.panels import Panel, Picture, Series
from recallscope.statistics.intervals import Interval
from reproduction.analysis import grouped
from reproduction.critical_sizes import CriticalSize
from reproduction.evidence import Evidence
from reproduction.intervals import UNKNOWN, count_shown, factor, moved, ratio, shown
from reproduction.predictions import judged
from reproduction.series import critical_series, theory_series
from reproduction.statement import Finding, Statement
from reproduction.statements.products import RANDOM_LONG
from reproduction.sweeps import SizedSweep, searches

CORNERS = SizedSweep(
    name="corners",
    first_seed=1_300_000,
    small=searches(
        vocab=128, dim=[48, 112], length=[8, 96], low=8, high=32_768, precision=0.15, budget=48
    ),
    short=searches(
        vocab=256, dim=[64, 128], length=[8, 192], low=16, high=65_536, precision=0.1, budget=128
    ),
    full=searches(
        vocab=1024,
        dim=[160, 384],
        length=[8, 512],
        low=64,
        high=262_144,
        precision=0.06,
        budget=256,
    ),
)
"""The four corners of the plane of dimension and length, more closely."""

RANDOM_SHORT = SizedSweep(
    name="random-short",
    first_seed=100_000,
    small=searches(
        vocab=128, length=8, dim=[48, 72, 112], low=8, high=32_768, precision=0.2, budget=24
    ),
    short=searches(
        vocab=256, length=8, dim=[64, 80, 96, 128], low=16, high=65_536, precision=0.15, budget=48
    ),
    full=searches(
        vocab=1024,
        length=8,
        dim=[160, 192, 240, 304, 384],
        low=64,
        high=262_144,
        precision=0.1,
        budget=64,
    ),
)
"""The same with sequences so short that attention is free."""

STATEMENT = Statement(
    name="two-by-two",
    title="Four corners: small or large d, short or long L",
    statement=(
        "The training-set size needed depends on the corner of the plane of dimension and "
        "length. Few dimensions with long sequences cost most, many dimensions with long "
        "sequences come next, and short sequences are cheap. Theory predicts the cost of "
        "each."
    ),
    source="Public reading notes on the paper (a table without numbers); the theory is ours.",
    support=(
        "In each of the four corners the measured sample-size threshold lies within a "
        "factor 1.25 of the prediction of our closed forms; and the corners come in the "
        "order stated."
    ),
    contradict="A corner that is off by more than this factor, or an order that is reversed.",
    background=(
        "The prediction comes from our derivation, in which no constant is fitted. The "
        "searches do not use it."
    ),
    plain=(
        "a small model that reads long texts needs by far the most data, and theory "
        "predicts how much each kind of model needs."
    ),
    attack=(
        "Any theory with the right signs orders four corners. What of the sizes in "
        "between, and of the choice of corners?"
    ),
    sweeps=(
        CORNERS,
        RANDOM_SHORT,
        RANDOM_LONG,
    ),
)


def analyse(evidence: Evidence) -> Finding:
    lengths = grouped(
        [*evidence.critical_sizes(RANDOM_SHORT), *evidence.critical_sizes(RANDOM_LONG)], "length"
    )
    short, long = lengths[min(lengths)], lengths[max(lengths)]
    ends = grouped(evidence.critical_sizes(CORNERS), "length")
    corners = {
        f"{d} d, {at} L": end(ends[length], key=lambda search: search.problem.dim)
        for at, length in (("short", min(ends)), ("long", max(ends)))
        for d, end in (("small", min), ("large", max))
    }
    between = [search for search in (*short, *long) if search.theory is not None]
    sizes = {corner: search.judged for corner, search in corners.items()}
    over = {corner: _over_prediction(search, sizes[corner]) for corner, search in corners.items()}
    middle = sizes["large d, long L"]
    small_over_large = ratio(sizes["small d, long L"], middle)
    middle_corners = ratio(middle, sizes["small d, short L"])
    long_over_short = ratio(middle, sizes["large d, short L"])
    all_over = ", ".join(map(shown, over.values()))
    samples = "; ".join(f"{corner}: {_both(search)}" for corner, search in corners.items())
    over_between = _extremes(between)
    return Finding(
        statement=STATEMENT,
        judgements=judged(
            STATEMENT.name,
            {
                "observed over predicted N*: small d, short L": over["small d, short L"],
                "observed over predicted N*: large d, short L": over["large d, short L"],
                "observed over predicted N*: small d, long L": over["small d, long L"],
                "observed over predicted N*: large d, long L": over["large d, long L"],
                "N* of small over large d, long sequences": small_over_large,
                "N* of large d, long L, over small d, short L": middle_corners,
                "N* of large d, long L, over large d, short L": long_over_short,
            },
        ),
        answer=f"Measured over predicted N*: {all_over}. Samples measured: {samples}.",
        reply=(
            f"Sizes between the corners follow the closed forms as well: for {len(between)} of "
            f"them, measured over predicted is {over_between}. The order of the middle "
            "corners depends on how far apart they are chosen. It is judged as an order, "
            "not as a law."
        ),
        practice=(
            "Before you lengthen sequences in a small model, ask the closed forms what it "
            f"costs: measured over predicted is {all_over} here."
        ),
        picture=Picture(
            caption=(
                "Samples for half of the facts. The corners are judged, from separate runs; points "
                "between are for comparison. Lines are closed forms, nothing fitted. Bars are "
                "95 %."
            ),
            panels=[
                Panel(
                    title=f"short: L = {min(lengths)}",
                    x="d, dimensions",
                    y="N*, samples",
                    log_x=True,
                    log_y=True,
                    series=_panel(short, ends),
                ),
                Panel(
                    title=f"long: L = {max(lengths)}",
                    x="d, dimensions",
                    y="N*, samples",
                    log_x=True,
                    log_y=True,
                    series=_panel(long, ends),
                ),
            ],
        ),
        rows=[search.row(predicted=search.theory) for search in (*corners.values(), *short, *long)],
    )


def _panel(
    searches: Sequence[CriticalSize], corners: Mapping[int, Sequence[CriticalSize]]
) -> list[Series]:
    """The corners of one length, and the searches between them."""
    return [
        critical_series("corners", corners[searches[0].problem.length]),
        critical_series("in between", searches[1:-1]),
        theory_series("predicted", searches, 0),
    ]


def _extremes(searches: Sequence[CriticalSize]) -> str:
    ratios = [
        math.exp(search.judged.mean) / search.theory
        for search in searches
        if search.theory and math.isfinite(search.judged.mean)  # what failed has no size
    ]
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "unknown"


def _both(search: CriticalSize) -> str:
    predicted = "out of reach" if search.theory is None else f"{search.theory:,}"
    return f"{count_shown(factor(search.judged))}, predicted {predicted}"


def _over_prediction(search: CriticalSize, log_observed: Interval) -> Interval:
    if search.theory is None:
        return UNKNOWN
    return factor(moved(log_observed, -math.log(search.theory)))
