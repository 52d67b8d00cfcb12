"""A news summary's law: the number of learnable examples grows as N ~ d·L."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recallscope.intervals import Interval
from recallscope.measurement.critical import CriticalSearch
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.numbers import critical_series, grouped, log_size, powers, row, shown
from recallscope.paper.verdict import judge
from recallscope.pictures.panels import Kind, Panel, Picture, Series

_ABOUT = 0.25


def analyse(evidence: Evidence) -> Finding:
    batches = evidence.searches("random-long")
    capacity = evidence.searches("capacity")
    needed = powers([row(search) for search in batches], ["dim", "length"])
    stored = powers([row(search) for search in capacity], ["dim", "length", "samples"])
    ends = {"above": 1 - _ABOUT, "below": 1 + _ABOUT}
    judgements = [
        judge("power of d in the samples needed", needed["dim"], **ends),
        judge("power of L in the samples needed", needed["length"], **ends),
        judge("power of d in the facts stored", stored["dim"], **ends),
        judge("power of L in the facts stored", stored["length"], **ends),
    ]
    long = grouped(batches, "length")
    middle = list(long)[len(long) // 2]
    most = max(search.problem.samples for search in capacity)
    lengths = grouped([s for s in capacity if s.problem.samples == most], "length")
    return Finding(
        judgements=judgements,
        answer=(
            f"Samples needed go as d to the {shown(needed['dim'])} and L to the "
            f"{shown(needed['length'])}. Facts stored from the same batch go as d to the "
            f"{shown(stored['dim'])} and L to the {shown(stored['length'])}. "
            + _correction(needed, stored)
        ),
        picture=Picture(
            caption="Grey lines rise as d to the first power, as the summary has it, through the "
            "middle of what was measured. Bars are 95 %.",
            panels=[
                Panel(
                    title=f"samples needed, L = {middle}",
                    x="d, dimensions",
                    y="N*, samples",
                    log_x=True,
                    log_y=True,
                    series=[
                        critical_series("measured", long[middle], "dim"),
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
                            critical_series(f"L = {length}", searches, "dim")
                            for length, searches in lengths.items()
                        ),
                        _in_proportion(lengths[min(lengths)]),
                    ],
                ),
            ],
        ),
        rows=[row(search) for search in (*batches, *capacity)],
    )


def _correction(needed: dict[str, Interval], stored: dict[str, Interval]) -> str:
    if needed["dim"].high < 0 < needed["length"].low and stored["length"].high < 1 - _ABOUT:
        return (
            "More dimensions lower the number of samples needed and longer sequences raise it, so "
            "d and L do not stand in one product; and longer sequences do not store more facts."
        )
    return "The measurements leave room for it."


def _in_proportion(searches: Sequence[CriticalSearch]) -> Series:
    logs = [log_size(search).mean for search in searches]
    dims = [float(search.problem.dim) for search in searches]
    level = math.fsum(logs) / len(logs) - math.fsum(map(math.log, dims)) / len(dims)
    return Series(
        label="∝ d",
        kind=Kind.REFERENCE,
        x=[min(dims), max(dims)],
        y=[math.exp(level) * min(dims), math.exp(level) * max(dims)],
    )


CLAIM = Claim(
    name="news",
    title="A news summary's N ~ d·L",
    statement="The number of learnable examples grows as N ~ d·L (as a news summary of the paper "
    "has it; not a claim of the authors that we know of).",
    support="Read as samples needed, or as facts stored, the number goes as d and L to the first "
    f"power, each to within {_ABOUT:g}.",
    contradict="Any of these powers outside of that range.",
    background="The summary does not say whether the number is the samples that are needed or the "
    "facts that can be stored, so both readings are tested.",
    sweeps=("random-long", "capacity"),
    analyse=analyse,
)
