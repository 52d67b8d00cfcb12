"""With an MLP, the required m·d has regimes named by the dominant noise; an MLP can hurt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from recallscope.common.grouping import grouped_by
from recallscope.paper.analysis import powers, row
from recallscope.paper.claim import Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.findings import finding_of
from recallscope.paper.intervals import UNKNOWN, average, interval_row, mean_over
from recallscope.paper.limits import TARGET, border, limited, share_right
from recallscope.paper.series import (
    critical_series,
    measured_series,
    theory_series,
)
from recallscope.paper.verdict import LEVEL
from recallscope.record import Record, Status
from recallscope.results.panels import Series, theory_line
from recallscope.statistics.intervals import Interval
from recallscope.statistics.paired import paired_difference
from recallscope.validation.measures import NOISES

_FEWEST = 2  # points; an exponent needs more
_SHOWN = ("activation", "samples", "dim", "length", "width")


def analyse(evidence: Evidence) -> Finding:
    wide_enough = evidence.searches("width")
    widths = [row(search) for search in wide_enough]
    half = len(widths) // 2
    every, below, above = (powers(part, "dim") for part in (widths, widths[:half], widths[half:]))
    shares = _shares(evidence.measures("noises"))
    changes = _changes(evidence.runs("without-mlp"), evidence.runs("with-mlp"))
    few, many = (
        changes[samples][max(changes[samples])] for samples in (min(changes), max(changes))
    )
    names = [name.replace("_", " ").replace("mlp", "MLP") for name in NOISES]
    readings = evidence.measures("mlp-limits")
    cells, first = limited(readings), limited(readings, "one_step_accuracy")
    plane = evidence.runs("mlp-plane")
    borders = [each for name in ("relu", "tanh") for each in border(plane, name)]
    right, right_first = (
        sum(each.measured == each.predicted for each in found) for found in (cells, first)
    )
    return finding_of(
        "mlp-regimes",
        dominant={name: shares[place][place] for place, name in enumerate(names)},
        named_right={
            noise: share_right(cells, noise) for noise in ("MLP noise", "mean bias", "distractors")
        },
        every=every,
        below=below,
        above=above,
        few=few,
        many=many,
        right=right,
        right_first=right_first,
        problems=len(cells),
        near=sum(
            each["theory"] is not None and each["low"] <= each["theory"] <= each["high"]
            for each in borders
        ),
        borders=len(borders),
        plane_power=_border_power(borders),
        target=TARGET,
        series=[
            [
                measured_series(name, zip(names, of_noise, strict=True))
                for name, of_noise in zip(names, zip(*shares, strict=True), strict=True)
            ],
            [
                critical_series("measured", wide_enough),
                theory_series("closed forms", wide_enough, 0),
            ],
            [
                each
                for place, name in enumerate(("relu", "tanh"))
                for each in _border_series(borders, name, place)
            ],
            [
                measured_series(f"N = {samples:,.0f}", changes[samples].items())
                for samples in sorted(changes)
            ],
        ],
        rows=[
            *widths,
            *borders,
            *(
                {name: getattr(each.problem, name) for name in _SHOWN}
                | {"limited by": each.measured, "predicted": each.predicted}
                for each in cells
            ),
            *(
                {"samples": samples, "width": width} | interval_row("change of recall", change)
                for samples, by_width in changes.items()
                for width, change in by_width.items()
            ),
            *(
                {"problem chosen for": chosen, "noise": name} | interval_row("share", share)
                for chosen, found in zip(names, shares, strict=True)
                for name, share in zip(names, found, strict=True)
            ),
        ],
    )


def _border_power(borders: Sequence[dict[str, Any]]) -> Interval:
    """The exponent of d in m*, the mean of both activations, where MLP noise limits."""
    chosen = [each for each in borders if each["limit"] == "MLP noise"]
    each_power = [
        powers(rows, "dim")["dim"]
        for name in ("relu", "tanh")
        if len(rows := [each for each in chosen if each["activation"] == name]) > _FEWEST
    ]
    return average(each_power)


def _border_series(borders: Sequence[dict[str, Any]], name: str, colour: int) -> list[Series]:
    rows = [row for row in borders if row["activation"] == name]
    points = [(each["dim"], Interval(each["value"], each["low"], each["high"])) for each in rows]
    known = [(each["dim"], each["theory"]) for each in rows if each["theory"] is not None]
    return [
        measured_series(name, points, colour),
        theory_line(f"{name}, closed forms", known, colour),
    ]


def _shares(readings: Sequence[Record]) -> list[list[Interval]]:
    """For each problem, in the order of the sweep, the fraction of each noise over seeds."""
    return [
        [mean_over(seeds) for seeds in zip(*map(_shares_of, of_problem), strict=True)]
        for of_problem in grouped_by(readings, attrgetter("problem")).values()
    ]


def _shares_of(reading: Record) -> list[float]:
    values = [max(reading.metric(name), 0.0) for name in NOISES]
    return [value / sum(values) for value in values]


def _changes(
    without: Sequence[Record], with_mlp: Sequence[Record]
) -> dict[float, dict[int, Interval]]:
    """Recall with an MLP minus recall without, at the same seeds; by samples, then width."""
    alone = {(record.problem.samples, record.seed): record for record in without}
    pairs = ((alone[record.problem.samples, record.seed], record) for record in with_mlp)
    found: dict[float, dict[int, Interval]] = defaultdict(dict)
    for problem, seeds in grouped_by(pairs, lambda pair: pair[1].problem).items():
        found[problem.samples][problem.width or 0] = _change(seeds)
    return found


def _change(seeds: Sequence[tuple[Record, Record]]) -> Interval:
    known = [
        [*before.accuracy("recall_accuracy")[:1], *after.accuracy("recall_accuracy")]
        for before, after in seeds
        if before.status is after.status is Status.OK
    ]
    if not known:
        return UNKNOWN
    before, after, tests = zip(*known, strict=True)
    return paired_difference(before, after, tests, LEVEL).difference
