"""Fewer dimensions store more facts per parameter, but need more samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from recallscope.common.status import Status
from recallscope.plot.panels import Panel, Picture, theory_line
from recallscope.statistics.intervals import Interval
from reproduction.analysis import grouped, powers
from reproduction.critical_sizes import CriticalSize
from reproduction.evidence import Evidence
from reproduction.intervals import average, factor, moved, ratio, shown
from reproduction.predictions import judged
from reproduction.series import compared_with_theory, measured_series
from reproduction.statement import Finding, Statement
from reproduction.statements.finite_data import CAPACITY_POPULATION
from reproduction.statements.products import RANDOM_LONG
from reproduction.statements.two_by_two import RANDOM_SHORT

STATEMENT = Statement(
    name="trade-off",
    title="Fewer dimensions: more facts per parameter, more samples",
    statement=(
        "Superposition lets smaller embeddings store more facts per parameter, but "
        "learning the same facts then takes more samples: capacity is traded for "
        "learnability."
    ),
    source=(
        "Public reading notes on the paper (not by its authors); that the gain is one "
        "over a logarithm is ours."
    ),
    support=(
        "V ln V is in proportion to d² at one half, with a constant of 0.52 to 0.64. "
        "Facts per parameter, from the population (N = ∞), fall as d grows; and for the "
        "same facts the smallest dimension of the grid needs more samples than the "
        "largest."
    ),
    contradict=(
        "Another exponent or constant; facts per parameter that grow with d, or no more "
        "samples needed at small d."
    ),
    background=(
        "The value matrix has d² numbers. If V > d facts are packed into them, facts "
        "overlap. How densely they can be packed is the capacity; how much data that "
        "takes is the learnability."
    ),
    plain=(
        "a smaller model packs facts more tightly, and pays for it with more training examples."
    ),
    practice=(
        "Do not expect much from smaller embeddings: facts per parameter rise only as "
        "1/ln V, while the data needed follows a power law in d."
    ),
    attack=(
        "Facts per parameter that fall as 1/ln V are no superposition gain worth the "
        "name. How large is it?"
    ),
    sweeps=(
        CAPACITY_POPULATION,
        RANDOM_SHORT,
        RANDOM_LONG,
    ),
)


def analyse(evidence: Evidence) -> Finding:
    population = evidence.critical_sizes(CAPACITY_POPULATION)
    batches = grouped(
        [*evidence.critical_sizes(RANDOM_SHORT), *evidence.critical_sizes(RANDOM_LONG)], "length"
    )
    short, long = batches[min(batches)], batches[max(batches)]
    stored = [search.row(parameters=search.problem.dim**2) for search in population]
    facts = powers(stored, "dim")
    few, many = (end(search.problem.dim for search in short) for end in (min, max))
    measured = [search for search in population if search.status is Status.OK]
    densities = [
        (search.problem.dim, factor(moved(search.shown, -2 * math.log(search.problem.dim))))
        for search in measured
    ]
    constants = [
        moved(_with_logarithm(search.judged), -2 * math.log(search.problem.dim))
        for search in measured
    ]
    predicted = [(search.problem.dim, search.theory) for search in population if search.theory]
    known = [(dim, facts / dim**2) for dim, facts in predicted]
    held_power = powers([_times_its_logarithm(row) for row in stored], "dim")["dim"]
    constant = factor(average(constants))
    per_parameter = moved(facts["dim"], -2.0)
    more = {"short": _cost_of_few_dimensions(short), "long": _cost_of_few_dimensions(long)}
    vocab = short[0].problem.vocab
    fall = _fall(measured)
    growth = _growth(measured)
    return Finding(
        statement=STATEMENT,
        judgements=judged(
            STATEMENT.name,
            {
                "power of d in V* ln V*, N = ∞": held_power,
                "V* ln V* over d², N = ∞": constant,
                "power of d in facts per parameter, N = ∞": per_parameter,
                "N* of smallest over largest d, short sequences": more["short"],
                "N* of smallest over largest d, long sequences": more["long"],
            },
        ),
        answer=(
            f"From the population (N = ∞), V ln V = {shown(constant)} d² at one half, with "
            f"an exponent of d of {shown(held_power)}. Facts per parameter fall as 1/ln V "
            "and no faster: over this grid, with an exponent of d of "
            f"{shown(per_parameter)}{facts.note}. For the same facts the smallest "
            f"dimension of the grid, {few}, needs {shown(more['short'])} times the samples "
            f"of the largest, {many}, for short sequences, and {shown(more['long'])} times "
            "for long ones."
        ),
        reply=(
            "The gain is a logarithm: from the smallest to the largest d of the "
            f"capacity's grid facts per parameter fall by a factor {fall}, while "
            f"parameters grow by {growth}. V ln V/d² stays at {shown(constant)}."
        ),
        picture=Picture(
            caption=(
                "Facts of which half are recalled from infinite data, over the d² numbers of the "
                "value matrix, and samples for half of as many. Lines are closed forms. Bars are "
                "95 %."
            ),
            panels=[
                Panel(
                    title="capacity: facts per parameter",
                    x="d, dimensions",
                    y="V*/d²",
                    log_x=True,
                    log_y=True,
                    series=[
                        measured_series("measured", densities),
                        theory_line("closed forms", known, 0),
                    ],
                ),
                Panel(
                    title=f"learnability: samples for half of {vocab} facts",
                    x="d, dimensions",
                    y="N*, samples",
                    log_x=True,
                    log_y=True,
                    series=compared_with_theory(
                        {
                            f"L = {searches[0].problem.length}": searches
                            for searches in (short, long)
                        }
                    ),
                ),
            ],
        ),
        rows=stored + [search.row() for search in (*short, *long)],
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


def _fall(searches: Sequence[CriticalSize]) -> str:
    if not searches:
        return "unknown"
    densities = [search.judged.mean - 2 * math.log(search.problem.dim) for search in searches]
    return f"{math.exp(max(densities) - min(densities)):.1f}"


def _growth(searches: Sequence[CriticalSize]) -> str:
    dims = [search.problem.dim for search in searches] or [1]
    return f"{(max(dims) / min(dims)) ** 2:.0f}"


def _cost_of_few_dimensions(searches: Sequence[CriticalSize]) -> Interval:
    few, many = (end(searches, key=lambda search: search.problem.dim).judged for end in (min, max))
    return ratio(few, many)
