"""Orthogonal embeddings store fewer facts than random ones of the same size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter

from recallscope.common.grouping import grouped_by
from recallscope.paper.analysis import powers
from recallscope.paper.claim import Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.findings import finding_of
from recallscope.paper.intervals import extreme, factor, interval_row, mean_over, shown
from recallscope.paper.series import measured_series
from recallscope.paper.verdict import LEVEL
from recallscope.problem import Problem
from recallscope.record import Record, Status
from recallscope.statistics.intervals import Interval

_KINDS = ("orthogonal", "most facts", "recall 0.9", "equal parameters")
"""The four problems of each dimension, in the order of the sweep."""


def analyse(evidence: Evidence) -> Finding:
    runs = _by_problem(evidence.runs("equal-size"))
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
    return finding_of(
        "orthogonal-capacity",
        smallest={kind: extreme(min, map(factor, found)) for kind, found in ratios.items()},
        lowest_recall=extreme(min, at_recall),
        dims=", ".join(map(str, dims)),
        times={
            kind: ", ".join(shown(factor(each)) for each in found) for kind, found in ratios.items()
        },
        recall=", ".join(map(shown, at_recall)),
        power=powers(rows, "dim")["dim"],
        length=runs[0][0].length,
        series=[
            [
                measured_series(kind, zip(dims, map(factor, found), strict=True))
                for kind, found in ratios.items()
            ]
        ],
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
