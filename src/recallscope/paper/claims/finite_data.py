"""Theory for infinite data promises more facts than the model stores from a finite batch."""

from __future__ import annotations

from recallscope.paper.analysis import grouped, log_size, row
from recallscope.paper.claim import Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.findings import finding_of
from recallscope.paper.intervals import factor, minus, ratio
from recallscope.paper.series import compared_with_theory, measured_series


def analyse(evidence: Evidence) -> Finding:
    every = evidence.searches("capacity-population")
    unlimited = {search.problem.dim: search for search in every}
    capacity = evidence.searches("capacity")
    shortest = min(search.problem.length for search in capacity)
    batches = grouped(
        [s for s in capacity if s.problem.length == shortest and s.problem.dim in unlimited],
        "samples",
    )
    fewest, most = min(batches), max(batches)
    shares = {
        samples: {
            search.problem.dim: minus(log_size(search), log_size(unlimited[search.problem.dim]))
            for search in searches
        }
        for samples, searches in batches.items()
    }
    smallest, largest = min(shares[fewest]), max(shares[fewest])
    small, large = (shares[samples][largest] for samples in (fewest, most))
    less_data, more_data = (
        {search.problem.dim: log_size(search) for search in batches[samples]}
        for samples in (fewest, most)
    )
    return finding_of(
        "finite-data",
        shortest=shortest,
        largest=largest,
        fewest=fewest,
        most=most,
        small=factor(small),
        large=factor(large),
        gained=ratio(more_data[largest], less_data[largest]),
        fall=ratio(small, shares[fewest][smallest]),
        at_smallest=factor(shares[fewest][smallest]),
        series=[
            compared_with_theory(
                {f"N = {n:,.0f}": each for n, each in batches.items()} | {"N = ∞": every}
            ),
            [
                measured_series(
                    f"N = {n:,.0f}", [(d, factor(share)) for d, share in by_dim.items()]
                )
                for n, by_dim in shares.items()
            ],
        ],
        rows=[row(search) for searches in (*batches.values(), every) for search in searches],
    )
