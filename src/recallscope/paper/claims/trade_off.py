"""Fewer dimensions store more facts per parameter, but need more samples."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recallscope.measurement.critical import CriticalSearch
from recallscope.paper.analysis import (
    batches_by_length,
    critical_series,
    factor,
    law,
    log_size,
    measured_series,
    minus,
    moved,
    over_dimensions,
    poor_fit_note,
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
    population = evidence.searches("capacity-population")
    batches = batches_by_length(evidence)
    short, long = batches[min(batches)], batches[max(batches)]
    stored = [row(search, parameters=search.problem.dim**2) for search in population]
    # Parameters are d², so facts per parameter go with two powers of d less than facts.
    facts_law = law(stored, ["dim"])
    per_parameter = moved(powers(facts_law)["dim"], -2.0)
    more = {at: _cost_of_few_dimensions(each) for at, each in (("short", short), ("long", long))}
    few, many = (end(search.problem.dim for search in short) for end in (min, max))
    judgements = [
        judge("power of d in facts per parameter, N = ∞", per_parameter, below=0.0),
        judge("N* of smallest over largest d, short sequences", more["short"], above=1.0),
        judge("N* of smallest over largest d, long sequences", more["long"], above=1.0),
    ]
    measured = [search for search in population if search.status is Status.OK]
    densities = [
        factor(moved(log_size(search, 0.95), -2 * math.log(search.problem.dim)))
        for search in measured
    ]
    return Finding(
        judgements=judgements,
        answer=(
            f"Facts per parameter ∝ d^{shown(per_parameter)}. This is the capacity, "
            f"with all the data there is{poor_fit_note(facts_law)}. For the same facts the "
            f"smallest dimension of the grid, {few}, needs {shown(more['short'])} times the "
            f"samples of the largest, {many}, for short sequences, and {shown(more['long'])} times "
            "for long ones."
        ),
        picture=Picture(
            caption="Left: facts of which half are recalled from the population (N = ∞), per "
            "number of the d² in the value matrix. Right: what the same facts cost in samples. "
            "Bars are 95 %, lines closed forms.",
            panels=[
                over_dimensions(
                    "capacity: facts per parameter",
                    [
                        measured_series("measured", [s.problem.dim for s in measured], densities),
                        Series(
                            label="closed forms",
                            kind=Kind.THEORY,
                            x=[search.problem.dim for search in population if search.theory],
                            y=[
                                search.theory / search.problem.dim**2
                                for search in population
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
    title="Fewer dimensions: more facts per parameter, more samples",
    statement="Superposition lets smaller embeddings store more facts for each parameter, but "
    "learning the same facts then takes more samples: capacity is traded for learnability.",
    support="Facts per parameter, from the population (N = ∞), fall as d grows; and for the same "
    "facts the smallest dimension of the grid needs more samples than the largest.",
    contradict="Facts per parameter that grow with d, or no more samples needed at small d.",
    background="The value matrix has d² numbers. Packing V > d facts into them means that facts "
    "overlap; how densely they can be packed is the capacity, and how much data it takes to get "
    "there is the learnability.",
    sweeps=("capacity-population", "random-short", "random-long"),
    analyse=analyse,
    plain="a smaller model packs facts more tightly, and pays for it with more training examples.",
)
