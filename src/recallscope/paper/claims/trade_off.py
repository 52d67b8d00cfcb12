"""Fewer dimensions store more facts per parameter, but need more samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from recallscope.measurement.critical import CriticalSearch
from recallscope.paper.analysis import batches_by_length, log_size, powers, row
from recallscope.paper.claim import Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.findings import finding_of
from recallscope.paper.intervals import average, factor, moved, ratio
from recallscope.paper.series import compared_with_theory, measured_series
from recallscope.record import Status
from recallscope.results.panels import theory_line
from recallscope.statistics.intervals import Interval


def analyse(evidence: Evidence) -> Finding:
    population = evidence.searches("capacity-population")
    batches = batches_by_length(evidence)
    short, long = batches[min(batches)], batches[max(batches)]
    stored = [row(search, parameters=search.problem.dim**2) for search in population]
    facts = powers(stored, "dim")
    few, many = (end(search.problem.dim for search in short) for end in (min, max))
    measured = [search for search in population if search.status is Status.OK]
    densities = [
        (each.problem.dim, factor(moved(log_size(each, 0.95), -2 * math.log(each.problem.dim))))
        for each in measured
    ]
    constants = [
        moved(_with_logarithm(log_size(each)), -2 * math.log(each.problem.dim)) for each in measured
    ]
    predicted = [(each.problem.dim, each.theory) for each in population if each.theory]
    known = [(dim, facts / dim**2) for dim, facts in predicted]
    return finding_of(
        "trade-off",
        held_power=powers([_times_its_logarithm(each) for each in stored], "dim")["dim"],
        constant=factor(average(constants)),
        facts=facts,
        # Parameters are d², so facts per parameter go with two powers of d less than facts.
        per_parameter=moved(facts["dim"], -2.0),
        more={"short": _cost_of_few_dimensions(short), "long": _cost_of_few_dimensions(long)},
        few=few,
        many=many,
        vocab=short[0].problem.vocab,
        fall=_fall(measured),
        growth=_growth(measured),
        series=[
            [
                measured_series("measured", densities),
                theory_line("closed forms", known, 0),
            ],
            compared_with_theory({f"L = {each[0].problem.length}": each for each in (short, long)}),
        ],
        rows=stored + [row(search) for search in (*short, *long)],
    )


def _with_logarithm(log: Interval) -> Interval:
    """The logarithm of V ln V, from that of V."""
    return Interval(
        *(end + math.log(end) if math.isfinite(end) and end > 0 else end for end in log)
    )


def _times_its_logarithm(facts: dict[str, Any]) -> dict[str, Any]:
    """A row of V* as one of V* ln V*."""
    log = facts["log_mean"]
    if log is None:
        return facts
    return facts | {"log_mean": log + math.log(log), "log_sd": facts["log_sd"] * (1 + 1 / log)}


def _fall(searches: Sequence[CriticalSearch]) -> str:
    if not searches:
        return "unknown"
    densities = [log_size(each).mean - 2 * math.log(each.problem.dim) for each in searches]
    return f"{math.exp(max(densities) - min(densities)):.1f}"


def _growth(searches: Sequence[CriticalSearch]) -> str:
    dims = [search.problem.dim for search in searches] or [1]
    return f"{(max(dims) / min(dims)) ** 2:.0f}"


def _cost_of_few_dimensions(searches: Sequence[CriticalSearch]) -> Interval:
    few, many = (
        log_size(end(searches, key=lambda search: search.problem.dim)) for end in (min, max)
    )
    return ratio(few, many)
