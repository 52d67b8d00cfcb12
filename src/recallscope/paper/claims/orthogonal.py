"""Orthogonal embeddings make the factors separable and promise too much at d < V."""

from __future__ import annotations

from collections.abc import Sequence

from recallscope.measurement.critical import CriticalSearch
from recallscope.paper.analysis import grouped, log_size, powers, row
from recallscope.paper.claim import Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.intervals import average, ratio, shown
from recallscope.paper.predictions import judged
from recallscope.paper.series import critical_series, over_dimensions
from recallscope.results.panels import Picture


def analyse(evidence: Evidence) -> Finding:
    random = evidence.searches("random-long")
    orthogonal = evidence.searches("orthogonal")
    rows = {
        "random": [row(search, embedding="random") for search in random],
        "orthogonal": [row(search, embedding="orthogonal") for search in orthogonal],
    }
    found = {name: powers(each, "dim", "length") for name, each in rows.items()}
    equal = evidence.searches("random-wide")
    same_sizes = [_same_sizes(search, orthogonal) for search in equal]
    narrow, wide, without_overlap = (
        average([log_size(search) for search in each]) for each in (random, equal, same_sizes)
    )
    randomness = ratio(wide, without_overlap)
    dimension = ratio(narrow, wide)
    both = ratio(narrow, without_overlap)
    return Finding(
        judgements=judged(
            "orthogonal",
            {
                "orthogonal: power of d in N*": found["orthogonal"]["dim"],
                "orthogonal: power of L in N*": found["orthogonal"]["length"],
                "random: power of d in N*": found["random"]["dim"],
                "random: power of L in N*": found["random"]["length"],
                "N* of random over orthogonal embeddings, equal d > V": randomness,
                "N* of random embeddings, d < V over d > V": dimension,
            },
        ),
        answer=(
            f"At equal dimensions random embeddings need {shown(randomness)} times the samples of "
            f"orthogonal ones: the cost of randomness. With fewer dimensions than tokens they need "
            f"{shown(dimension)} times as many again: the cost of few dimensions. With "
            f"orthogonal embeddings N* ∝ d^{shown(found['orthogonal']['dim'])} · "
            f"L^{shown(found['orthogonal']['length'])}. With random ones, at fewer dimensions than "
            f"tokens, N* ∝ d^{shown(found['random']['dim'])} · "
            f"L^{shown(found['random']['length'])}."
        ),
        reply=f"The whole factor is {shown(both)}. Most of it, {shown(dimension)}, is the cost of "
        f"few dimensions; {shown(randomness)} is left at equal dimensions. Orthogonal embeddings "
        "do not exist at d < V, so no comparison can remove randomness there.",
        picture=Picture(
            title="Orthogonal embeddings hide that N* falls with d and grows with L",
            caption=f"Samples N* for half the facts, V = {random[0].problem.vocab}. Orthogonal "
            "embeddings need d > V. Bars are 95 %.",
            panels=[
                over_dimensions(
                    "",
                    [
                        *(
                            critical_series(f"random, L = {length}", here)
                            for length, here in grouped([*random, *equal], "length").items()
                        ),
                        critical_series("orthogonal, every L", orthogonal, 6),  # black
                    ],
                )
            ],
        ),
        rows=rows["random"]
        + [row(search, embedding="random") for search in equal]
        + rows["orthogonal"],
    )


def _same_sizes(search: CriticalSearch, among: Sequence[CriticalSearch]) -> CriticalSearch:
    """The search with the same dimension and length."""
    sizes = (search.problem.dim, search.problem.length)
    return next(each for each in among if (each.problem.dim, each.problem.length) == sizes)
