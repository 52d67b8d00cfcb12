"""Fewer dimensions store more facts a parameter, but need more samples."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recallscope.measurement.critical import CriticalSearch
from recallscope.paper.analysis import (
    batches_by_length,
    bend_told,
    critical_series,
    factor,
    law,
    log_size,
    measured_series,
    minus,
    moved,
    over_dimensions,
    powers,
    row,
    shown,
    theory_series,
)
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.verdict import judge
from recallscope.plotting.panels import Kind, Picture, Series
from recallscope.record import Status
from recallscope.statistics.intervals import Interval


def analyse(evidence: Evidence) -> Finding:
    endless = evidence.searches("capacity-endless")
    batches = batches_by_length(evidence)
    short, long = batches[min(batches)], batches[max(batches)]
    stored = [row(search, parameters=search.problem.dim**2) for search in endless]
    # Parameters are d², so facts a parameter go with two powers of d less than facts.
    facts_law = law(stored, ["dim"])
    per_parameter = moved(powers(facts_law)["dim"], -2.0)
    more = {at: _cost_of_few_dimensions(each) for at, each in (("short", short), ("long", long))}
    few, many = (end(search.problem.dim for search in short) for end in (min, max))
    judgements = [
        judge("power of d in facts a parameter, endless batch", per_parameter, below=0.0),
        judge("N* of smallest over largest d, short sequences", more["short"], above=1.0),
        judge("N* of smallest over largest d, long sequences", more["long"], above=1.0),
    ]
    measured = [search for search in endless if search.status is Status.OK]
    densities = [
        factor(moved(log_size(search, 0.95), -2 * math.log(search.problem.dim)))
        for search in measured
    ]
    return Finding(
        judgements=judgements,
        answer=(
            f"Facts a parameter go as d to the {shown(per_parameter)}. This is the capacity, with "
            f"all the data there is{bend_told(facts_law)}. For the same facts the smallest "
            f"dimension of the grid, {few}, needs {shown(more['short'])} times the samples of the "
            f"largest, {many}, for short sequences, and {shown(more['long'])} times for long ones."
        ),
        picture=Picture(
            caption="Left: facts of which half are recalled from an endless batch, for each of the "
            "d² numbers of the value matrix. Right: what the same facts cost in samples. Bars are "
            "95 %, lines closed forms.",
            panels=[
                over_dimensions(
                    "capacity: facts a parameter",
                    [
                        measured_series("measured", [s.problem.dim for s in measured], densities),
                        Series(
                            label="closed forms",
                            kind=Kind.THEORY,
                            x=[search.problem.dim for search in endless if search.theory],
                            y=[
                                search.theory / search.problem.dim**2
                                for search in endless
                                if search.theory
                            ],
                            colour=0,
                        ),
                    ],
                    y="V*/d²",
                ),
                over_dimensions(
                    f"learnability: batch for half of {short[0].problem.vocab} facts",
                    [
                        part
                        for place, searches in enumerate((short, long))
                        for part in (
                            critical_series(
                                f"L = {searches[0].problem.length}", searches, "dim", place
                            ),
                            theory_series(
                                f"closed forms, L = {searches[0].problem.length}",
                                searches,
                                "dim",
                                place,
                            ),
                        )
                    ],
                ),
            ],
        ),
        rows=stored + [row(search) for search in (*short, *long)],
    )


def _cost_of_few_dimensions(searches: Sequence[CriticalSearch]) -> Interval:
    few, many = (
        log_size(end(searches, key=lambda search: search.problem.dim)) for end in (min, max)
    )
    return factor(minus(few, many))


CLAIM = Claim(
    name="trade-off",
    title="Fewer dimensions: more facts a parameter, more samples",
    statement="Superposition lets smaller embeddings store more facts for each parameter, but "
    "learning the same facts then takes more samples: capacity is traded for learnability.",
    support="Facts a parameter, from an endless batch, fall as d grows; and for the same facts "
    "the smallest dimension of the grid needs more samples than the largest.",
    contradict="Facts a parameter that grow with d, or no more samples needed at small d.",
    background="The value matrix has d² numbers. Packing V > d facts into them means that facts "
    "overlap; how densely they can be packed is the capacity, and how much data it takes to get "
    "there is the learnability.",
    sweeps=("capacity-endless", "random-short", "random-long"),
    analyse=analyse,
)
