"""Orthogonal embeddings make the factors separable and promise too much at d < V."""

from __future__ import annotations

from collections.abc import Sequence

from recallscope.plot.panels import Panel, Picture
from reproduction.analysis import grouped, powers
from reproduction.critical_sizes import CriticalSize
from reproduction.evidence import Evidence
from reproduction.intervals import average, ratio, shown
from reproduction.predictions import judged
from reproduction.series import critical_series
from reproduction.statement import Finding, Statement
from reproduction.statements.products import RANDOM_LONG
from reproduction.sweeps import SizedSweep, searches

RANDOM_WIDE = SizedSweep(
    name="random-wide",
    first_seed=1_600_000,
    small=searches(
        vocab=128, dim=[129, 256], length=[32, 96], low=8, high=32_768, precision=0.2, budget=24
    ),
    short=searches(
        vocab=256, dim=[257, 512], length=[64, 192], low=16, high=65_536, precision=0.15, budget=48
    ),
    full=searches(
        vocab=1024,
        dim=[1025, 1450, 2048],
        length=[192, 320, 512],
        low=64,
        high=262_144,
        precision=0.1,
        budget=64,
    ),
)
"""Random embeddings with more dimensions than tokens, as orthogonal ones need."""

ORTHOGONAL = SizedSweep(
    name="orthogonal",
    first_seed=200_000,
    small=searches(
        vocab=128,
        embedding="orthogonal",
        dim=[129, 192, 256],
        length=[32, 64, 96],
        low=8,
        high=32_768,
        precision=0.2,
        budget=24,
    ),
    short=searches(
        vocab=256,
        embedding="orthogonal",
        dim=[257, 320, 400, 512],
        length=[64, 96, 128, 192],
        low=16,
        high=65_536,
        precision=0.15,
        budget=48,
    ),
    full=searches(
        vocab=1024,
        embedding="orthogonal",
        dim=[1025, 1200, 1450, 1700, 2048],
        length=[192, 256, 320, 384, 512],
        low=64,
        high=262_144,
        precision=0.1,
        budget=64,
    ),
)
"""The same with orthogonal embeddings, which need more dimensions than tokens."""

STATEMENT = Statement(
    name="orthogonal",
    title="Orthogonal embeddings mislead",
    statement=(
        "With orthogonal embeddings the sizes separate: the training-set size needed "
        "depends on neither dimension nor length. Applied to fewer dimensions than "
        "tokens, this promises a capacity that random embeddings do not have."
    ),
    source="Public reading notes on the paper (not by its authors).",
    support=(
        "Orthogonal: exponents of d and L in N* within 0.1 of zero. Random, at d < V: "
        "exponents beyond a quarter. Random over orthogonal at equal d > V: 1.15 to 1.6 "
        "times the samples, as closed forms say; and random at d < V at least 1.25 times "
        "those at d > V."
    ),
    contradict="An exponent or a factor outside of its range.",
    background=(
        "Much theory of associative memory assumes orthogonal embeddings, which need more "
        "dimensions than tokens. Real models have far fewer, so their embeddings overlap."
    ),
    plain=(
        "models in which no two tokens overlap look better than real ones are, so a rule "
        "made for them promises too much."
    ),
    practice=(
        "A rule made for embeddings that do not overlap says nothing about a model with d "
        "< V. Most of what it misses is the cost of few dimensions, not of randomness."
    ),
    caveat=(
        "No embeddings are orthogonal at d < V, so the cost of few dimensions is measured "
        "on random ones. Part of it is randomness: tight frames, the least random rows "
        "there, take about half of the samples of random ones (V = 256, d = 64, L = 8)."
    ),
    attack=(
        "A comparison of d < V with d > V mixes the cost of few dimensions with the cost "
        "of randomness. What is left at equal dimensions?"
    ),
    sweeps=(
        RANDOM_LONG,
        RANDOM_WIDE,
        ORTHOGONAL,
    ),
)


def analyse(evidence: Evidence) -> Finding:
    random = evidence.critical_sizes(RANDOM_LONG)
    orthogonal = evidence.critical_sizes(ORTHOGONAL)
    rows = [search.row(embedding="random") for search in random]
    orthogonal_rows = [search.row(embedding="orthogonal") for search in orthogonal]
    equal = evidence.critical_sizes(RANDOM_WIDE)
    same_sizes = [_same_sizes(search, orthogonal) for search in equal]
    narrow, wide, without_overlap = (
        average([search.judged for search in critical_sizes])
        for critical_sizes in (random, equal, same_sizes)
    )
    randomness = ratio(wide, without_overlap)
    dimension = ratio(narrow, wide)
    both = ratio(narrow, without_overlap)
    power_orthogonal = powers(orthogonal_rows, "dim", "length")
    power_random = powers(rows, "dim", "length")
    vocab = random[0].problem.vocab
    return Finding(
        statement=STATEMENT,
        judgements=judged(
            STATEMENT.name,
            {
                "orthogonal: power of d in N*": power_orthogonal["dim"],
                "orthogonal: power of L in N*": power_orthogonal["length"],
                "random: power of d in N*": power_random["dim"],
                "random: power of L in N*": power_random["length"],
                "N* of random over orthogonal embeddings, equal d > V": randomness,
                "N* of random embeddings, d < V over d > V": dimension,
            },
        ),
        answer=(
            f"At equal dimensions random embeddings need {shown(randomness)} times the "
            "samples of orthogonal ones: the cost of randomness. With fewer dimensions "
            f"than tokens they need {shown(dimension)} times as many again: the cost of "
            f"few dimensions. With orthogonal embeddings N* ∝ d^{shown(power_orthogonal['dim'])} "
            f"· L^{shown(power_orthogonal['length'])}. With random ones, at fewer dimensions "
            f"than tokens, N* ∝ d^{shown(power_random['dim'])} · L^{shown(power_random['length'])}."
        ),
        reply=(
            f"The whole factor is {shown(both)}. Most of it, {shown(dimension)}, is the "
            f"cost of few dimensions; {shown(randomness)} is left at equal dimensions. At "
            "d < V no embeddings are orthogonal; tight frames, whose directions are "
            "equally filled, need fewer samples than random ones there."
        ),
        picture=Picture(
            title="Orthogonal embeddings hide that N* falls with d and grows with L",
            caption=(
                f"Samples N* for half the facts, V = {vocab}. Orthogonal embeddings need d "
                "> V. Bars are 95 %."
            ),
            panels=[
                Panel(
                    x="d, dimensions",
                    y="N*, samples",
                    log_x=True,
                    log_y=True,
                    series=[
                        *(
                            critical_series(f"random, L = {length}", here)
                            for length, here in grouped([*random, *equal], "length").items()
                        ),
                        critical_series("orthogonal, every L", orthogonal, 6),  # black
                    ],
                ),
            ],
        ),
        rows=rows + [search.row(embedding="random") for search in equal] + orthogonal_rows,
    )


def _same_sizes(search: CriticalSize, among: Sequence[CriticalSize]) -> CriticalSize:
    """The search with the same dimension and length."""
    sizes = (search.problem.dim, search.problem.length)
    return next(other for other in among if (other.problem.dim, other.problem.length) == sizes)
