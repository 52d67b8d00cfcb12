"""Orthogonal embeddings make the factors separable and promise too much at d < V."""

from __future__ import annotations

from collections.abc import Sequence

from recallscope.measurement.critical import CriticalSearch
from recallscope.paper.analysis import grouped, log_size, powers, row
from recallscope.paper.claim import Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.findings import finding_of
from recallscope.paper.intervals import average, ratio
from recallscope.paper.series import critical_series


def analyse(evidence: Evidence) -> Finding:
    random = evidence.searches("random-long")
    orthogonal = evidence.searches("orthogonal")
    rows = [row(search, embedding="random") for search in random]
    orthogonal_rows = [row(search, embedding="orthogonal") for search in orthogonal]
    equal = evidence.searches("random-wide")
    same_sizes = [_same_sizes(search, orthogonal) for search in equal]
    narrow, wide, without_overlap = (
        average([log_size(search) for search in each]) for each in (random, equal, same_sizes)
    )
    return finding_of(
        "orthogonal",
        randomness=ratio(wide, without_overlap),
        dimension=ratio(narrow, wide),
        both=ratio(narrow, without_overlap),
        orthogonal=powers(orthogonal_rows, "dim", "length"),
        random=powers(rows, "dim", "length"),
        vocab=random[0].problem.vocab,
        series=[
            [
                *(
                    critical_series(f"random, L = {length}", here)
                    for length, here in grouped([*random, *equal], "length").items()
                ),
                critical_series("orthogonal, every L", orthogonal, 6),  # black
            ]
        ],
        rows=rows + [row(search, embedding="random") for search in equal] + orthogonal_rows,
    )


def _same_sizes(search: CriticalSearch, among: Sequence[CriticalSearch]) -> CriticalSearch:
    """The search with the same dimension and length."""
    sizes = (search.problem.dim, search.problem.length)
    return next(each for each in among if (each.problem.dim, each.problem.length) == sizes)
