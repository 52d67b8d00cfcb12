"""Storage capacity depends on samples, dimensions and length in products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recallscope.common.grouping import grouped_by
from recallscope.measurement.critical import CriticalSearch
from recallscope.paper.analysis import combination, grouped, power_within, powers, row
from recallscope.paper.claim import Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.findings import finding_of
from recallscope.paper.intervals import UNKNOWN, shown
from recallscope.paper.series import compared_with_theory, critical_series
from recallscope.statistics.combining_power import Combination


def analyse(evidence: Evidence) -> Finding:
    long = evidence.searches("random-long")
    one_step = evidence.searches("capacity-one-step")
    batches = [row(search, recall=0.5) for search in long]
    stored = [row(search, ratio=_samples_over_length(search)) for search in one_step]
    combined = {
        "d and L in N*": combination(long, "dim", "length"),
        "d and L in N*, half the vocabulary": combination(
            evidence.searches("random-half"), "dim", "length"
        ),
        "V and L in N*": combination(evidence.searches("vocab-and-length"), "vocab", "length"),
    }
    known = {which: each for which, each in combined.items() if each is not None}
    lengths = grouped(long, "length")
    return finding_of(
        "products",
        combined={
            which: UNKNOWN if each is None else each.power for which, each in combined.items()
        },
        exponents="; ".join(f"{shown(each.power)} for {which}" for which, each in known.items()),
        needed=powers(batches, "dim", "length"),
        capacity=powers(stored, "ratio", "dim"),
        at_equal_ratio=power_within(_alike(one_step), "length"),
        rivals=_rivals(known),
        series=[
            compared_with_theory(
                {f"L = {length}": lengths[length] for length in (min(lengths), max(lengths))}
            ),
            [
                critical_series(f"d = {dim}", searches, place, _samples_over_length)
                for place, (dim, searches) in enumerate(grouped(one_step, "dim").items())
            ],
        ],
        rows=batches + stored,
    )


def _rivals(combined: Mapping[str, Combination]) -> str:
    """χ² of the rival laws, a sum and a maximum."""
    return " ".join(
        f"For {which}, f·g has χ² = {each.product:.0f}, f + g {each.sum:.0f} (both for "
        f"{each.freedom} degrees of freedom) and max(f, g) {each.maximum:.0f}, whatever f and g."
        for which, each in combined.items()
    )


def _alike(searches: Sequence[CriticalSearch]) -> list[list[CriticalSearch]]:
    """Searches at equal d and equal N/L, where there are several."""
    groups = grouped_by(searches, lambda each: (each.problem.dim, _samples_over_length(each)))
    return [group for group in groups.values() if len(group) > 1]


def _samples_over_length(search: CriticalSearch) -> float:
    return search.problem.samples / search.problem.length
