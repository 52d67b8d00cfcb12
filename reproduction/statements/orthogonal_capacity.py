"""Orthogonal embeddings store fewer facts than random ones of the same size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter

from recallscope.common.status import Status
from recallscope.experiment.record import Record
from recallscope.plot.grouping import grouped_by
from recallscope.plot.panels import Panel, Picture
from recallscope.problem.problem import Problem
from recallscope.statistics.intervals import Interval
from reproduction.analysis import powers
from reproduction.evidence import Evidence
from reproduction.intervals import extreme, factor, interval_row, mean_over, shown
from reproduction.predictions import judged
from reproduction.series import measured_series
from reproduction.statement import Finding, Statement
from reproduction.sweeps import SizedSweep, runs
from reproduction.verdict import LEVEL

_SIZES = {
    "embedding": ["orthogonal", "sphere", "sphere", "sphere"] * 3,
    "vocab": [64, 364, 127, 122, 128, 1150, 464, 316, 256, 3849, 1703, 779],
    "dim": [65, 65, 65, 49, 129, 129, 129, 83, 257, 257, 257, 143],
    "samples": [1024, 5824, 2032, 1952, 2048, 18400, 7424, 5056, 4096, 61584, 27248, 12464],
}

EQUAL_SIZE = SizedSweep(
    name="equal-size",
    first_seed=2_200_000,
    small=runs(
        seeds=4,
        length=8,
        together=_SIZES,
    ),
    short=runs(
        seeds=4,
        length=8,
        together=_SIZES,
    ),
    full=runs(
        seeds=8,
        length=8,
        together=_SIZES,
    ),
)
"""For each dimension four problems: orthogonal embeddings with as many facts as they allow; random
ones with the most facts recalled, with recall 0.9, and with as many parameters in all. Closed forms
said which sizes these are."""

STATEMENT = Statement(
    name="orthogonal-capacity",
    title="Orthogonal embeddings are not capacity-optimal",
    statement=(
        "Random embeddings, which overlap, store more facts than orthogonal ones of the "
        "same size. By superposition they come near the optimal capacity, and orthogonal "
        "ones do not."
    ),
    source="Public reading notes on the paper (not by its authors), which cite Nichani et al.",
    support=(
        "At equal dimensions and at equal parameters random embeddings recall more facts "
        "than orthogonal ones can store, also with so few facts that nearly all are "
        "recalled; and the ratio grows with the dimension."
    ),
    contradict="Fewer facts at equal dimensions or at equal parameters, in any of the sizes.",
    background=(
        "Orthogonal embeddings need a dimension for each token: d of them store at most d "
        "− 1 facts, as the trigger needs one. Random embeddings may outnumber the "
        "dimensions; each token then also reads a little of what is stored under others."
    ),
    plain="embeddings that overlap store more facts than embeddings that do not.",
    practice=(
        "Do not give each fact its own dimension. More facts than dimensions, each a "
        "little less certain, are more facts in total."
    ),
    caveat=(
        "With very few dimensions it is the other way round by closed forms (17 "
        "dimensions, equal parameters). Parameters count embeddings and both matrices."
    ),
    attack=(
        "More facts of which half are forgotten are no better memory. How many more are "
        "there where nearly all are recalled?"
    ),
    sweeps=(EQUAL_SIZE,),
)


_KINDS = ("orthogonal", "most facts", "recall 0.9", "equal parameters")
"""The four problems of each dimension, in the order of the sweep."""


def analyse(evidence: Evidence) -> Finding:
    runs = _by_problem(evidence.runs(EQUAL_SIZE))
    groups = [runs[at : at + len(_KINDS)] for at in range(0, len(runs), len(_KINDS))]
    dims = [group[0][0].dim for group in groups]
    # The smallest of several: each at a level that leaves all of them right together.
    level = 1 - (1 - LEVEL) / len(groups)
    ratios = {
        kind: [_ratio(group[place], group[0], level) for group in groups]
        for place, kind in enumerate(_KINDS)
        if place
    }
    at_recall = [mean_over(group[2][1], level) for group in groups]
    rows = [
        {"dim": group[0][0].dim, "status": "ok", "log_mean": ratio.mean}
        | {"log_sd": max((ratio.high - ratio.low) / 3.92, 1e-6)}  # as if from a normal law
        for group in groups
        for ratio in [_ratio(group[1], group[0], 0.95)]
        if math.isfinite(ratio.low)
    ]
    smallest = {kind: extreme(min, map(factor, of_kind)) for kind, of_kind in ratios.items()}
    lowest_recall = extreme(min, at_recall)
    times = {
        kind: ", ".join(shown(factor(ratio)) for ratio in of_kind)
        for kind, of_kind in ratios.items()
    }
    recall = ", ".join(map(shown, at_recall))
    power = powers(rows, "dim")["dim"]
    length = runs[0][0].length
    return Finding(
        statement=STATEMENT,
        judgements=judged(
            STATEMENT.name,
            {
                "facts recalled, random over orthogonal, equal dimensions, smallest": smallest[
                    "most facts"
                ],
                "facts recalled, random over orthogonal, equal parameters, smallest": smallest[
                    "equal parameters"
                ],
                "facts recalled where random ones recall most, random over orthogonal, "
                "equal dimensions, smallest": smallest["recall 0.9"],
                "recall of random ones there, lowest": lowest_recall,
                "power of d in the facts recalled, random over orthogonal, equal dimensions": power,
            },
        ),
        answer=(
            f"With {', '.join(map(str, dims))} dimensions, random embeddings recall "
            f"{times['most facts']} times as many facts as orthogonal ones can store. At "
            "equal parameters the factors "
            f"are {times['equal parameters']}. The ratio at equal dimensions goes as "
            f"d^{shown(power)}."
        ),
        reply=(
            f"With so few facts that random embeddings recall {recall} of them, they are "
            f"still {times['recall 0.9']} times as many."
        ),
        picture=Picture(
            caption=(
                "Facts times recall after three steps, over those of orthogonal embeddings. 16 "
                f"samples for each fact, sequences of {length}. Bars are 99.5 %, for all "
                "dimensions together."
            ),
            panels=[
                Panel(
                    title="random over orthogonal embeddings",
                    x="d, dimensions of the orthogonal ones",
                    y="ratio of facts recalled",
                    log_x=True,
                    log_y=True,
                    series=[
                        measured_series(kind, zip(dims, map(factor, of_kind), strict=True))
                        for kind, of_kind in ratios.items()
                    ],
                ),
            ],
        ),
        rows=[
            {"for dimension": dim, "embeddings": kind, "vocab": problem.vocab, "dim": problem.dim}
            | {"samples": problem.samples, "facts recalled": problem.vocab * mean.mean}
            | interval_row("recall", mean)
            for dim, group in zip(dims, groups, strict=True)
            for kind, (problem, recall) in zip(_KINDS, group, strict=True)
            for mean in [mean_over(recall, 0.95)]
        ],
    )


def _by_problem(runs: Sequence[Record]) -> list[tuple[Problem, list[float]]]:
    return [
        (problem, [run.accuracy("recall_accuracy")[0] for run in of_it if run.status is Status.OK])
        for problem, of_it in grouped_by(runs, attrgetter("problem")).items()
    ]


def _ratio(
    random: tuple[Problem, list[float]], orthogonal: tuple[Problem, list[float]], level: float
) -> Interval:
    """The logarithm of facts recalled over those of orthogonal embeddings, by seed."""
    logs = [
        math.log(max(random[0].vocab * ours, 0.5) / max(orthogonal[0].vocab * theirs, 0.5))
        for ours, theirs in zip(random[1], orthogonal[1], strict=False)
    ]
    return mean_over(logs, level)
