"""With an MLP, the required m·d has regimes named by the dominant noise; an MLP can hurt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from recallscope.common.csv_files import read_csv
from recallscope.common.status import Status
from recallscope.experiment.record import Record
from recallscope.plot.grouping import grouped_by
from recallscope.plot.labels import noise_label
from recallscope.plot.panels import Panel, Picture, Series, theory_line
from recallscope.plot.style import NOISES as COLOURS_OF_NOISES
from recallscope.statistics.intervals import Interval
from recallscope.statistics.paired import paired_difference
from reproduction.analysis import powers
from reproduction.evidence import Evidence
from reproduction.intervals import UNKNOWN, average, interval_row, mean_over, shown
from reproduction.limits import PLANE, TARGET, border, limited, share_right
from reproduction.measures import NOISES, noises
from reproduction.noise_removal import limits
from reproduction.predictions import judged
from reproduction.series import (
    critical_series,
    measured_series,
    theory_series,
)
from reproduction.statement import Finding, Statement
from reproduction.sweeps import SizedSweep, runs, searches
from reproduction.verdict import LEVEL

_FEWEST = 2  # points; an exponent needs more
_SHOWN = ("activation", "samples", "dim", "length", "width")

WIDTH = SizedSweep(
    name="width",
    first_seed=700_000,
    small=searches(
        find="width",
        vocab=128,
        samples="inf",
        length=4,
        activation="relu",
        dim=[40, 48, 56, 68, 80],
        low=4,
        high=4_096,
        precision=0.2,
        budget=20,
    ),
    short=searches(
        find="width",
        vocab=256,
        samples="inf",
        length=4,
        activation="relu",
        dim=[64, 80, 96, 128],
        low=4,
        high=4_096,
        precision=0.1,
        budget=40,
    ),
    full=searches(
        find="width",
        vocab=512,
        samples="inf",
        length=4,
        activation="relu",
        dim=[96, 104, 112, 128, 144, 160, 176, 192, 224, 256],
        low=4,
        high=4_096,
        precision=0.06,
        budget=64,
    ),
)
"""The MLP wide enough to recall half the facts, from the population (samples = inf)."""

THREE_NOISES = SizedSweep(
    name="noises",
    first_seed=900_000,
    measure=noises,
    small=runs(
        seeds=4,
        vocab=128,
        dim=64,
        together={
            "samples": [512, 512, 16384],
            "length": [8, 16, 4],
            "width": [512, 2048, 32],
            "activation": ["relu", "tanh", "relu"],
        },
    ),
    short=runs(
        seeds=8,
        vocab=256,
        dim=64,
        together={
            "samples": [1024, 1024, 32768],
            "length": [8, 16, 4],
            "width": [512, 2048, 32],
            "activation": ["relu", "tanh", "relu"],
        },
    ),
    full=runs(
        seeds=24,
        vocab=256,
        dim=64,
        together={
            "samples": [1024, 1024, 32768],
            "length": [8, 16, 4],
            "width": [512, 2048, 32],
            "activation": ["relu", "tanh", "relu"],
        },
    ),
)
"""Three problems, and which noise is the largest of the three in each."""

WITHOUT_MLP = SizedSweep(
    name="without-mlp",
    first_seed=800_000,
    small=runs(seeds=6, vocab=128, dim=32, length=8, samples=[512, 8192]),
    short=runs(seeds=8, vocab=256, dim=48, length=8, samples=[1024, 4096, 16384]),
    full=runs(seeds=16, vocab=256, dim=48, length=8, samples=[1024, 4096, 16384, 65536]),
)
"""Recall of attention alone."""

WITH_MLP = SizedSweep(
    name="with-mlp",
    first_seed=800_000,
    small=runs(
        seeds=6,
        vocab=128,
        dim=32,
        length=8,
        activation="relu",
        samples=[512, 8192],
        width=[64, 1024],
    ),
    short=runs(
        seeds=8,
        vocab=256,
        dim=48,
        length=8,
        activation="relu",
        samples=[1024, 4096, 16384],
        width=[64, 256, 1024],
    ),
    full=runs(
        seeds=16,
        vocab=256,
        dim=48,
        length=8,
        activation="relu",
        samples=[1024, 4096, 16384, 65536],
        width=[64, 256, 1024, 4096],
    ),
)
"""Recall with an MLP with the same seeds."""

MLP_PLANE = SizedSweep(
    name="mlp-plane",
    first_seed=2_100_000,
    small=runs(
        seeds=3,
        vocab=128,
        length=8,
        dim=[12, 17, 23, 32, 45, 62, 86, 120],
        width=[8, 20, 48, 116, 283, 689, 1680, 4096],
        together={"activation": ["relu", "tanh"], "samples": [4096, 1024]},
    ),
    short=runs(
        seeds=2,
        vocab=128,
        length=8,
        dim=[12, 15, 18, 22, 28, 34, 42, 52, 64, 79, 97, 120],
        width=[8, 14, 25, 44, 77, 136, 240, 424, 747, 1318, 2323, 4096],
        together={"activation": ["relu", "tanh"], "samples": [4096, 1024]},
    ),
    full=runs(
        seeds=4,
        vocab=256,
        length=8,
        dim=[
            12,
            14,
            16,
            18,
            20,
            23,
            26,
            30,
            34,
            39,
            44,
            50,
            57,
            65,
            74,
            85,
            96,
            110,
            125,
            143,
            162,
            185,
            211,
            240,
        ],
        width=[
            8,
            10,
            14,
            18,
            24,
            31,
            41,
            53,
            70,
            92,
            121,
            158,
            207,
            272,
            357,
            468,
            613,
            805,
            1055,
            1384,
            1815,
            2381,
            3123,
            4096,
        ],
        together={"activation": ["relu", "tanh"], "samples": [8192, 2048]},
    ),
)
"""The plane of m and d, for ReLU with more samples for each fact than for tanh."""


_DRAWN = read_csv(Path(__file__).with_name("mlp-limits.csv"))
"""Problems of each size, which the study of the plane has drawn."""


def _problems(size: str) -> dict[str, list[Any]]:
    """Return the drawn problems of a size, which vary in all of these fields."""
    rows = [row for row in _DRAWN if row["size"] == size]
    return {name: [row[name] for row in rows] for name in _SHOWN}


MLP_LIMITS = SizedSweep(
    name="mlp-limits",
    first_seed=2_000_000,
    measure=limits,
    small=runs(seeds=1, vocab=128, together=_problems("small")),
    short=runs(seeds=2, vocab=128, together=_problems("short")),
    full=runs(seeds=2, vocab=256, together=_problems("full")),
)
"""Which noise limits recall: cells of the plane of m and d, and other problems."""

STATEMENT = Statement(
    name="mlp-regimes",
    title="With an MLP: three noises, and it can hurt",
    statement=(
        "When a random MLP follows attention, the requirement depends on which noise "
        "dominates: mean bias, gradient noise or MLP noise. Where MLP noise does, the "
        "requirement is on the product m·d. An MLP does not always help."
    ),
    source=(
        "Public reading notes on the paper (the three noises and the regimes); a public "
        "review (that an MLP makes the condition harder to meet)."
    ),
    support=(
        "For each of the three noises, measured separately, there is a problem in which "
        "it makes up more than half of the three. The width that MLP noise requires goes "
        "as 1/d, to within 0.5 in the exponent. Adding the widest MLP lowers recall at "
        "the smallest training set and raises it at the largest. Where closed forms say "
        "that MLP noise, mean bias or distractors limit recall, removing that one helps "
        "most in more than half of the problems."
    ),
    contradict=(
        "A noise that does not dominate where it should, an exponent of d outside −1.5 to "
        "−0.5, or an MLP that does not hurt at the smallest training set or not help at "
        "the largest."
    ),
    background=(
        "A random MLP makes features that overlap less. It adds a mean common to all "
        "tokens (mean bias) and the randomness of its weights (MLP noise) to the noise of "
        "a finite training set (gradient noise). By our derivation a ReLU, whose mean is "
        "not zero, has more mean bias than gradient noise wherever d is large. Therefore "
        "the problem for gradient noise has tanh."
    ),
    plain=(
        "an added random layer may help or hurt: with little data it brings more noise "
        "than it removes."
    ),
    practice=(
        "Do not add a random MLP to a memory that has seen little data; with much data it helps."
    ),
    attack=(
        "One problem for each noise is an example, not a regime; and an exponent that "
        "changes along its axis is no exponent. Where are the borders?"
    ),
    sweeps=(
        WIDTH,
        THREE_NOISES,
        WITHOUT_MLP,
        WITH_MLP,
        MLP_PLANE,
        MLP_LIMITS,
    ),
)


def analyse(evidence: Evidence) -> Finding:
    wide_enough = evidence.critical_sizes(WIDTH)
    widths = [search.row() for search in wide_enough]
    half = len(widths) // 2
    every, below, above = (powers(part, "dim") for part in (widths, widths[:half], widths[half:]))
    shares = _shares(evidence.runs(THREE_NOISES))
    changes = _changes(evidence.runs(WITHOUT_MLP), evidence.runs(WITH_MLP))
    few, many = (
        changes[samples][max(changes[samples])] for samples in (min(changes), max(changes))
    )
    names = [noise_label(name) for name in NOISES]
    readings = evidence.runs(MLP_LIMITS)
    limits_of = limited(readings)
    cells, first = limits_of["recall_accuracy"], limits_of["first_gradient_accuracy"]
    plane = evidence.rows(MLP_PLANE, *PLANE)
    borders = [point for name in ("relu", "tanh") for point in border(plane, name)]
    right, right_first = (
        sum(cell.measured == cell.predicted for cell in cells_of) for cells_of in (cells, first)
    )
    dominant = {name: shares[place][place] for place, name in enumerate(names)}
    named_right = {
        noise: share_right(cells, noise) for noise in ("MLP noise", "mean bias", "distractors")
    }
    problems = len(cells)
    near = sum(
        border["theory"] is not None and border["low"] <= border["theory"] <= border["high"]
        for border in borders
    )
    plane_power = _border_power(borders)
    return Finding(
        statement=STATEMENT,
        judgements=judged(
            STATEMENT.name,
            {
                "share of mean bias where it should dominate": dominant["mean bias"],
                "share of gradient noise where it should dominate": dominant["gradient noise"],
                "share of MLP noise where it should dominate": dominant["MLP noise"],
                "power of d in the width m* that MLP noise asks for": every["dim"],
                "change of recall by the widest MLP, smallest batch": few,
                "change of recall by the widest MLP, largest batch": many,
                "share of cells that MLP noise limits, of those in which it should": named_right[
                    "MLP noise"
                ],
                "share of cells that mean bias limits, of those in which it should": named_right[
                    "mean bias"
                ],
                "share of problems that distractors limit, of those in which they "
                "should": named_right["distractors"],
                "power of d in the width m* of the plane, where MLP noise limits": plane_power,
            },
        ),
        answer=(
            "In the problem chosen for each, mean bias makes up "
            f"{shown(dominant['mean bias'])}, gradient noise makes up "
            f"{shown(dominant['gradient noise'])}, MLP noise makes up "
            f"{shown(dominant['MLP noise'])} of the three. From the population (N = ∞), "
            "where width must overcome MLP noise, m* ∝ "
            f"d^{shown(every['dim'])}{every.note}: {shown(below['dim'])} over the smaller "
            f"half of the dimensions, {shown(above['dim'])} over the larger. −1 would be a "
            "condition on the product m·d alone. The widest MLP changes recall by "
            f"{shown(few, 3)} at the smallest training set and by {shown(many, 3)} at the "
            "largest. On the plane of m and d, removing one noise at a time showed which "
            f"one limits recall: closed forms name it in {right} of {problems} problems. "
            f"Recall of {TARGET:g} needs m* ∝ d^{shown(plane_power)} where MLP noise "
            "limits."
        ),
        reply=(
            f"On the plane the border of recall {TARGET:g} lies where closed forms put it "
            f"at {near} of {len(borders)} dimensions, by intervals of 95 %. They name the "
            f"limiting noise in {right} of {problems} problems after three steps, and in "
            f"{right_first} for the first gradient. From the population m* falls as "
            f"d^{shown(below['dim'])} over the smaller dimensions and as "
            f"d^{shown(above['dim'])} over the larger."
        ),
        picture=Picture(
            caption=(
                "Fraction of each noise in the first gradient (bars 99.5 %), widths for half the "
                f"facts and for {TARGET:.0%} of them (95 %), and recall with an MLP minus recall "
                "without, at the same seeds (99.5 %)."
            ),
            panels=[
                Panel(
                    title="fraction of each noise",
                    x="problem chosen for",
                    y="fraction of the three",
                    series=[
                        measured_series(name, zip(names, of_noise, strict=True), place_of(name))
                        for name, of_noise in zip(names, zip(*shares, strict=True), strict=True)
                    ],
                ),
                Panel(
                    title="width for half the facts, N = ∞",
                    x="d, dimensions",
                    y="m*, hidden units",
                    log_x=True,
                    log_y=True,
                    series=[
                        critical_series("measured", wide_enough),
                        theory_series("closed forms", wide_enough, 0),
                    ],
                ),
                Panel(
                    title=f"width for recall {TARGET:g}, on the plane",
                    x="d, dimensions",
                    y="m*, hidden units",
                    log_x=True,
                    log_y=True,
                    series=[
                        series
                        for place, name in enumerate(("relu", "tanh"))
                        for series in _border_series(borders, name, place)
                    ],
                ),
                Panel(
                    title="effect of an MLP",
                    x="m, width",
                    y="change of recall",
                    log_x=True,
                    series=[
                        measured_series(f"N = {samples:,.0f}", changes[samples].items())
                        for samples in sorted(changes)
                    ],
                ),
            ],
        ),
        rows=[
            *widths,
            *borders,
            *(
                {name: getattr(cell.problem, name) for name in _SHOWN}
                | {"limited by": cell.measured, "predicted": cell.predicted}
                for cell in cells
            ),
            *(
                {"samples": samples, "width": width} | interval_row("change of recall", change)
                for samples, by_width in changes.items()
                for width, change in by_width.items()
            ),
            *(
                {"problem chosen for": chosen, "noise": name} | interval_row("share", share)
                for chosen, of_problem in zip(names, shares, strict=True)
                for name, share in zip(names, of_problem, strict=True)
            ),
        ],
    )


def _border_power(borders: Sequence[dict[str, Any]]) -> Interval:
    """The exponent of d in m*, the mean of both activations, where MLP noise limits."""
    chosen = [border for border in borders if border["limit"] == "MLP noise"]
    exponents = [
        powers(rows, "dim")["dim"]
        for name in ("relu", "tanh")
        if len(rows := [point for point in chosen if point["activation"] == name]) > _FEWEST
    ]
    return average(exponents)


def _border_series(borders: Sequence[dict[str, Any]], name: str, colour: int) -> list[Series]:
    rows = [row for row in borders if row["activation"] == name]
    points = [(row["dim"], Interval(row["value"], row["low"], row["high"])) for row in rows]
    known = [(row["dim"], row["theory"]) for row in rows if row["theory"] is not None]
    return [
        measured_series(name, points, colour),
        theory_line(f"{name}, closed forms", known, colour),
    ]


def place_of(noise: str) -> int:
    """The place of the colour that a noise has in every figure."""
    return [*COLOURS_OF_NOISES].index(noise.lower().replace(" ", "_"))


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
    by_samples: dict[float, dict[int, Interval]] = defaultdict(dict)
    for problem, seeds in grouped_by(pairs, lambda pair: pair[1].problem).items():
        by_samples[problem.samples][problem.width or 0] = _change(seeds)
    return by_samples


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
