"""Theory for infinite data promises more facts than the model stores from a finite batch."""

from __future__ import annotations

from recallscope.plot.panels import Panel, Picture
from reproduction.analysis import grouped
from reproduction.evidence import Evidence
from reproduction.intervals import factor, minus, ratio, shown
from reproduction.predictions import judged
from reproduction.series import compared_with_theory, measured_series
from reproduction.statement import Finding, Statement
from reproduction.sweeps import SizedSweep, searches

CAPACITY = SizedSweep(
    name="capacity",
    first_seed=300_000,
    small=searches(
        find="vocab",
        samples=[1024, 4096],
        dim=[24, 32, 48],
        length=[8, 32],
        low=4,
        high=4_096,
        precision=0.2,
        budget=20,
    ),
    short=searches(
        find="vocab",
        samples=[2048, 8192],
        dim=[32, 48, 64, 96],
        length=[8, 32, 128],
        low=4,
        high=4_096,
        precision=0.15,
        budget=40,
    ),
    full=searches(
        find="vocab",
        samples=[4096, 16384],
        dim=[32, 48, 64, 96, 128],
        length=[8, 32, 128],
        low=4,
        high=4_096,
        precision=0.1,
        budget=64,
    ),
)
"""The most facts of which half are recalled, from a batch of given size."""

CAPACITY_POPULATION = SizedSweep(
    name="capacity-population",
    first_seed=500_000,
    small=searches(
        find="vocab",
        samples="inf",
        length=8,
        dim=[12, 16, 24, 32, 48, 64],
        low=4,
        high=8_192,
        precision=0.2,
        budget=24,
    ),
    short=searches(
        find="vocab",
        samples="inf",
        length=8,
        dim=[24, 32, 48, 64, 96],
        low=4,
        high=8_192,
        precision=0.1,
        budget=40,
    ),
    full=searches(
        find="vocab",
        samples="inf",
        length=8,
        dim=[24, 32, 48, 64, 96, 128, 192],
        low=4,
        high=8_192,
        precision=0.06,
        budget=64,
    ),
)
"""The most facts of which half are recalled, from the population (samples = inf)."""

STATEMENT = Statement(
    name="finite-data",
    title="Infinite data promises too much",
    statement=(
        "Theory that assumes infinite data misses the cost of a finite training set. From "
        "a finite set a model stores fewer facts, and the shortfall grows with the "
        "dimension."
    ),
    source=(
        "The abstract and public reading notes (earlier theory assumes infinite data, "
        "which real training does not have); that the shortfall grows with d is ours."
    ),
    support=(
        "At the largest dimension the model stores, from the smaller training set, less "
        "than 0.9 of the facts that it stores from infinite data. From the larger set it "
        "stores more than from the smaller one and still less than from infinite data. "
        "The fraction falls as d grows."
    ),
    contradict=(
        "A fraction that is not below one, a larger training set from which no more is "
        "stored, or a fraction that does not fall with d."
    ),
    background=(
        "With infinite data every fact is seen equally often and attention always finds "
        "the trigger, so only overlaps of embeddings are left. In a finite training set "
        "counts vary, some facts are never seen, and attention is learnt from the same "
        "few samples."
    ),
    plain=(
        "how much a model could store and how much it learns from the data it is given "
        "are two numbers, and the second is smaller."
    ),
    practice=(
        "A capacity measured with unlimited data is a ceiling. Ask what your number of "
        "examples per fact allows before you make a model larger."
    ),
    attack=(
        "With enough samples the difference vanishes, so infinite data is a harmless "
        "simplification. Where is it not?"
    ),
    sweeps=(
        CAPACITY,
        CAPACITY_POPULATION,
    ),
)


def analyse(evidence: Evidence) -> Finding:
    every = evidence.critical_sizes(CAPACITY_POPULATION)
    unlimited = {search.problem.dim: search for search in every}
    capacity = evidence.critical_sizes(CAPACITY)
    shortest = min(search.problem.length for search in capacity)
    batches = grouped(
        [s for s in capacity if s.problem.length == shortest and s.problem.dim in unlimited],
        "samples",
    )
    fewest, most = min(batches), max(batches)
    shares = {
        samples: {
            search.problem.dim: minus(search.judged, unlimited[search.problem.dim].judged)
            for search in searches
        }
        for samples, searches in batches.items()
    }
    smallest, largest = min(shares[fewest]), max(shares[fewest])
    log_small, log_large = (shares[samples][largest] for samples in (fewest, most))
    less_data, more_data = (
        {search.problem.dim: search.judged for search in batches[samples]}
        for samples in (fewest, most)
    )
    small, large = factor(log_small), factor(log_large)
    gained = ratio(more_data[largest], less_data[largest])
    fall = ratio(log_small, shares[fewest][smallest])
    at_smallest = factor(shares[fewest][smallest])
    return Finding(
        statement=STATEMENT,
        judgements=judged(
            STATEMENT.name,
            {
                "facts from the smaller batch over facts from all data, largest d": small,
                "facts from the larger batch over facts from all data, largest d": large,
                "facts from the larger over the smaller batch, largest d": gained,
                "share of facts learnt from the smaller batch, largest over smallest d": fall,
            },
        ),
        answer=(
            f"At d = {largest} and {fewest:,} samples, the model stores {shown(small)} of "
            f"the facts that it stores from infinite data; at {most:,} samples, "
            f"{shown(large)}. The missing fraction grows with d: from the smallest to the "
            f"largest d, the stored fraction falls to {shown(fall)} of its value."
        ),
        reply=(
            "The gap closes with data and opens with dimensions: from the smallest to the "
            f"largest d the fraction stored from {fewest:,} samples goes from "
            f"{shown(at_smallest)} to {shown(small)}. A theory for infinite data does not "
            "have that factor."
        ),
        picture=Picture(
            caption=(
                "Facts of which half are recalled after three steps (bars 95 %), and their ratio "
                "to those from infinite data (bars 99.5 %). Lines are closed forms, nothing "
                "fitted."
            ),
            panels=[
                Panel(
                    title=f"facts stored, L = {shortest}",
                    x="d, dimensions",
                    y="V*, facts",
                    log_x=True,
                    log_y=True,
                    series=compared_with_theory(
                        {f"N = {n:,.0f}": sizes for n, sizes in batches.items()} | {"N = ∞": every}
                    ),
                ),
                Panel(
                    title="fraction of the facts stored from infinite data",
                    x="d, dimensions",
                    y="V* over V* at N = ∞",
                    log_x=True,
                    series=[
                        measured_series(
                            f"N = {n:,.0f}", [(d, factor(share)) for d, share in by_dim.items()]
                        )
                        for n, by_dim in shares.items()
                    ],
                ),
            ],
        ),
        rows=[search.row() for searches in (*batches.values(), every) for search in searches],
    )
