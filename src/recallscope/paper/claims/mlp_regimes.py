"""With an MLP, what m·d must be has regimes named by the dominant noise; an MLP can hurt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from recallscope.paper.analysis import (
    UNKNOWN,
    critical_series,
    law,
    mean_over,
    measured_series,
    over_dimensions,
    poor_fit_note,
    powers,
    row,
    shown,
    theory_series,
)
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.predictions import judged
from recallscope.paper.verdict import LEVEL
from recallscope.problem import Problem
from recallscope.record import Record, Status
from recallscope.results.panels import Panel, Picture, Series
from recallscope.statistics.intervals import Interval
from recallscope.statistics.paired import paired_difference
from recallscope.validation.measures import NOISES


def analyse(evidence: Evidence) -> Finding:
    wide_enough = evidence.searches("width")
    widths = [row(search) for search in wide_enough]
    width_law = law(widths, ["dim"])
    power = powers(width_law)["dim"]
    half = len(widths) // 2
    below, above = (powers(law(part, ["dim"]))["dim"] for part in (widths[:half], widths[half:]))
    shares = _shares(evidence.measures("noises"))
    changes = _changes(evidence.runs("without-mlp"), evidence.runs("with-mlp"))
    few, many = (_widest(changes, end(p.samples for p in changes)) for end in (min, max))
    names = [name.replace("_", " ").replace("mlp", "MLP") for name in NOISES]
    judgements = judged(
        "mlp-regimes",
        {
            f"share of {name} where it should dominate": shares[place][place]
            for place, name in enumerate(names)
        }
        | {
            "power of d in the width m* that MLP noise asks for": power,
            "change of recall by the widest MLP, smallest batch": few,
            "change of recall by the widest MLP, largest batch": many,
        },
    )
    samples = sorted({problem.samples for problem in changes})
    return Finding(
        judgements=judgements,
        answer=(
            "In the problem chosen for each, "
            + ", ".join(
                f"{name} makes up {shown(shares[place][place])}" for place, name in enumerate(names)
            )
            + " of the three. From the population (N = ∞), where MLP noise is what "
            f"width must beat, m* ∝ d^{shown(power)}{poor_fit_note(width_law)}: "
            f"{shown(below)} over the smaller half of the dimensions, {shown(above)} over the "
            f"larger. −1 would be a condition on the product m·d alone. The widest MLP changes "
            f"recall by {shown(few, 3)} at the smallest batch and by {shown(many, 3)} at the "
            "largest."
        ),
        practice="Do not add a random MLP to a memory that has seen little data; with much data it "
        "helps.",
        reply=f"It cannot be answered from these runs, and the verdict is not about it: m* falls "
        f"as d^{shown(below)} over the smaller dimensions and as d^{shown(above)} over the larger.",
        picture=Picture(
            caption="Left: which of the three noises is the largest in the first gradient, in "
            "three problems, each measured on its own. Middle: the width at which half the facts "
            "are recalled. Right: recall with an MLP minus recall without, at the same seeds. Bars "
            "are 99.5 % (left, right) and 95 % (middle).",
            panels=[
                Panel(
                    title="share of each noise",
                    x="problem chosen for",
                    y="share of the three",
                    series=[
                        measured_series(name, names, [found[place] for found in shares])
                        for place, name in enumerate(names)
                    ],
                ),
                over_dimensions(
                    "width for half the facts, N = ∞",
                    [
                        critical_series("measured", wide_enough, "dim"),
                        theory_series("closed forms", wide_enough, "dim", 0),
                    ],
                    y="m*, hidden units",
                ),
                Panel(
                    title="what an MLP changes",
                    x="m, width",
                    y="change of recall",
                    log_x=True,
                    series=[_change_series(count, changes) for count in samples],
                ),
            ],
        ),
        rows=[
            *widths,
            *(
                {
                    "samples": problem.samples,
                    "width": problem.width,
                    "change of recall": change.mean,
                    "low": change.low,
                    "high": change.high,
                }
                for problem, change in changes.items()
            ),
            *(
                {"problem chosen for": chosen, "noise": name, "share": share.mean}
                | {"low": share.low, "high": share.high}
                for chosen, found in zip(names, shares, strict=True)
                for name, share in zip(names, found, strict=True)
            ),
        ],
    )


def _shares(readings: Sequence[Record]) -> list[list[Interval]]:
    """For each problem, in the order of the sweep, the share of each noise over seeds."""
    by_problem: dict[Problem, list[list[float]]] = defaultdict(list)
    for reading in readings:
        values = [max(reading.metric(name), 0.0) for name in NOISES]
        by_problem[reading.problem].append([value / sum(values) for value in values])
    return [
        [mean_over(seeds) for seeds in zip(*shares, strict=True)] for shares in by_problem.values()
    ]


def _changes(without: Sequence[Record], with_mlp: Sequence[Record]) -> dict[Problem, Interval]:
    """Recall with an MLP minus recall without, at the same seeds; by the problem with it."""
    alone = {(record.problem.samples, record.seed): record for record in without}
    pairs: dict[Problem, list[tuple[Record, Record]]] = defaultdict(list)
    for record in with_mlp:
        other = alone[record.problem.samples, record.seed]
        both = pairs[record.problem]
        if record.status is other.status is Status.OK:
            both.append((other, record))
    return {
        problem: UNKNOWN
        if not seeds
        else paired_difference(
            [before.accuracy("recall_accuracy")[0] for before, _ in seeds],
            [after.accuracy("recall_accuracy")[0] for _, after in seeds],
            [after.accuracy("recall_accuracy")[1] for _, after in seeds],
            LEVEL,
        ).difference
        for problem, seeds in pairs.items()
    }


def _widest(changes: dict[Problem, Interval], samples: float) -> Interval:
    here = [problem for problem in changes if problem.samples == samples]
    return changes[max(here, key=lambda problem: problem.width or 0)]


def _change_series(samples: float, changes: dict[Problem, Interval]) -> Series:
    here = {
        problem.width or 0: change
        for problem, change in changes.items()
        if problem.samples == samples
    }
    return measured_series(f"N = {samples:,.0f}", list(here), list(here.values()))


CLAIM = Claim(
    name="mlp-regimes",
    title="With an MLP: three noises, and it can hurt",
    statement="When a random MLP follows attention, what is needed depends on which noise "
    "dominates: mean bias, gradient noise or MLP noise. Where MLP noise does, the requirement is "
    "on the product m·d. An MLP does not always help.",
    support="For each of the three there is a problem in which it makes up more than half of the "
    "three, measured on its own; the width that MLP noise asks for goes as 1/d to within half a "
    "power; and adding the widest MLP lowers recall at the smallest batch and raises it at the "
    "largest.",
    contradict="A noise that does not lead where it should, a power of d outside −1.5 to −0.5, or "
    "an MLP that does not hurt at the smallest batch or not help at the largest.",
    background="A random MLP makes features that overlap less, but it adds a mean common to all "
    "tokens (mean bias) and the randomness of its own weights (MLP noise) to the noise of a finite "
    "batch (gradient noise). By our derivation a ReLU, whose mean is not zero, has more mean "
    "bias than gradient noise wherever d is large: the problem for gradient noise has tanh.",
    sweeps=("width", "noises", "without-mlp", "with-mlp"),
    analyse=analyse,
    source="Public reading notes on the paper (the three noises and the regimes); a public review "
    "(that an MLP makes the condition harder to meet).",
    attack="One problem for each noise is an example, not a regime; and a power that changes along "
    "its own axis is no power. Where are the borders?",
    caveat="One problem for each noise shows that it can lead, not where; and the exponent of d in "
    "m* changes along the axis. The borders of the regimes are still to be measured.",
    plain="an added random layer may help or hurt: with little data it brings more noise than it "
    "takes away.",
)
