"""A news summary's law: the number of learnable examples grows as N ~ d·L."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recallscope.common.status import Status
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.statistics.intervals import Interval
from reproduction.analysis import grouped, powers
from reproduction.critical_sizes import CriticalSize
from reproduction.evidence import Evidence
from reproduction.intervals import extreme, moved, shown
from reproduction.predictions import judged
from reproduction.series import critical_series
from reproduction.statement import Finding, Statement
from reproduction.statements.finite_data import CAPACITY
from reproduction.statements.products import RANDOM_LONG

STATEMENT = Statement(
    name="news",
    title="A news summary's N ~ d·L",
    statement=(
        "The number of learnable examples grows as N ~ d·L (as a news summary of the "
        "paper has it; not a claim of the authors that we know of)."
    ),
    source="A news summary of the paper, and nowhere else. Notes by readers contradict it on d.",
    support=(
        "Read as samples needed, or else as facts stored, the number goes as d and L with "
        "exponent one, each to within 0.25."
    ),
    contradict="In both readings, an exponent of d or L outside of that range.",
    background=(
        "The summary does not say whether the number is the samples that are needed or "
        "the facts that can be stored, so both readings are tested."
    ),
    plain=(
        "the number of examples would grow in proportion to the dimension and the length of texts."
    ),
    practice="Do not plan data as d·L: more dimensions need fewer samples, not more.",
    attack="The summary is vague, so a reading may exist in which it is right. Which were tried?",
    sweeps=(
        RANDOM_LONG,
        CAPACITY,
    ),
    of_the_paper=False,
)


def analyse(evidence: Evidence) -> Finding:
    batches = evidence.critical_sizes(RANDOM_LONG)
    capacity = evidence.critical_sizes(CAPACITY)
    needed = powers([search.row() for search in batches], "dim", "length")
    stored = powers([search.row() for search in capacity], "dim", "length", "samples")
    misses = [_miss(needed), _miss(stored)]
    long = grouped(batches, "length")
    middle = list(long)[len(long) // 2]
    most = max(search.problem.samples for search in capacity)
    lengths = grouped([s for s in capacity if s.problem.samples == most], "length")
    nearer = extreme(min, misses)
    return Finding(
        statement=STATEMENT,
        judgements=judged(
            STATEMENT.name,
            {
                "how far powers are from those of d·L, in the nearer reading": nearer,
            },
        ),
        answer=(
            f"Samples needed: N* ∝ d^{shown(needed['dim'])} · "
            f"L^{shown(needed['length'])}{needed.note}. Facts stored from the same "
            f"samples: V* ∝ d^{shown(stored['dim'])} · "
            f"L^{shown(stored['length'])}{stored.note}. The exponent farther from one "
            f"misses it by {shown(misses[0])} in the first reading and by "
            f"{shown(misses[1])} in the second."
        ),
        reply=(
            f"Both readings of the summary. The nearer one misses by {shown(nearer)}, many "
            "times the range allowed; for samples, the sign of d is wrong."
        ),
        picture=Picture(
            caption=(
                "Grey lines rise as d to the first power, as the summary has it, through "
                "the middle of what was measured. Bars are 95 %."
            ),
            panels=[
                Panel(
                    title=f"samples needed, L = {middle}",
                    x="d, dimensions",
                    y="N*, samples",
                    log_x=True,
                    log_y=True,
                    series=[
                        critical_series("measured", long[middle]),
                        _in_proportion(long[middle]),
                    ],
                ),
                Panel(
                    title=f"facts stored, N = {most:,.0f}",
                    x="d, dimensions",
                    y="V*, facts",
                    log_x=True,
                    log_y=True,
                    series=[
                        *(
                            critical_series(f"L = {length}", searches)
                            for length, searches in lengths.items()
                        ),
                        _in_proportion(lengths[min(lengths)]),
                    ],
                ),
            ],
        ),
        rows=[search.row() for search in (*batches, *capacity)],
    )


def _miss(exponents: dict[str, Interval]) -> Interval:
    """How far the exponent of d or L is from one, whichever is farther."""
    return extreme(max, (_size(moved(exponents[name], -1.0)) for name in ("dim", "length")))


def _size(interval: Interval) -> Interval:
    """The absolute value."""
    mean, low, high = interval
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return Interval(abs(mean), nearest, max(abs(low), abs(high)))


def _in_proportion(searches: Sequence[CriticalSize]) -> Series:
    searches = [search for search in searches if search.status is Status.OK]
    logs = [search.judged.mean for search in searches]
    dims = [float(search.problem.dim) for search in searches]
    if not logs:
        return Series("∝ d", Kind.REFERENCE, [], [])
    level = math.fsum(logs) / len(logs) - math.fsum(map(math.log, dims)) / len(dims)
    ends = [min(dims), max(dims)]
    return Series("∝ d", Kind.REFERENCE, ends, [math.exp(level) * end for end in ends])
