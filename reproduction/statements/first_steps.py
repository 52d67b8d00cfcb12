"""The first steps decide whether attention finds the trigger, whose direction it learns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from recallscope.common.status import Status
from recallscope.experiment.record import Record
from recallscope.plot.grouping import grouped_by
from recallscope.plot.panels import Panel, Picture
from recallscope.statistics.intervals import Interval, mean_interval
from reproduction.evidence import Evidence
from reproduction.intervals import UNKNOWN, drawn_again, mean_over, shown
from reproduction.predictions import judged
from reproduction.series import measured_series
from reproduction.statement import Finding, Statement
from reproduction.sweeps import SizedSweep, runs
from reproduction.verdict import LEVEL

ATTENTION = SizedSweep(
    name="attention",
    first_seed=1_000_000,
    small=runs(seeds=6, vocab=128, dim=48, length=64, samples=[128, 512, 2048, 8192]),
    short=runs(
        seeds=12,
        vocab=256,
        dim=64,
        length=128,
        samples=[256, 512, 1024, 2048, 4096, 8192, 16384, 32768],
    ),
    full=runs(
        seeds=32,
        vocab=256,
        dim=64,
        length=128,
        samples=[256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536],
    ),
)
"""Attention from missing the trigger to finding it."""

SATURATING = SizedSweep(
    name="saturating",
    first_seed=1_700_000,
    small=runs(
        seeds=10,
        vocab=128,
        dim=32,
        length=32,
        learner="gd",
        steps=100,
        samples=[73, 220],
        saturation=[0.1, 100.0],
    ),
    short=runs(
        seeds=16,
        vocab=128,
        dim=32,
        length=32,
        learner="gd",
        steps=300,
        samples=[73, 220],
        saturation=[0.1, 10.0, 100.0],
    ),
    full=runs(
        seeds=48,
        vocab=128,
        dim=32,
        length=32,
        learner="gd",
        steps=300,
        samples=[73, 220],
        saturation=[0.1, 1.0, 10.0, 100.0],
    ),
)
"""Gradient descent after first steps that leave scores of attention with standard deviation s."""

STATEMENT = Statement(
    name="first-steps",
    title="The first steps decide whether attention finds the trigger",
    statement=(
        "Attention learns the direction of the trigger in the first steps, which are "
        "large. They decide whether it attends to the trigger; later steps only amplify."
    ),
    source=(
        "Public reading notes on the paper (that it is decided early); a public review "
        "asked about the direction. Both say that the first step is small and the others "
        "large."
    ),
    support=(
        "The attention vector has a cosine with the trigger above 0.9 for a large "
        "training set and below 0.5 for a small one, and recall is below 0.1 where "
        "attention has not found the trigger. After first steps that saturate attention, "
        "further training gains less than 0.1 of attention accuracy. The cosine after the "
        "first steps predicts which seeds find the trigger, after saturating and small "
        "steps alike (area under the curve above 0.6)."
    ),
    contradict=(
        "A cosine or recall on the wrong side, a gain above 0.1 after saturating steps, "
        "or an early cosine that predicts little."
    ),
    background=(
        "The paper trains in three steps, of which the second makes attention. It adds "
        "the attention vector, which should point along the trigger. The size of that "
        "step decides whether later steps can change anything, so it is varied here. The "
        "step leaves attention logits with standard deviation s, from 0.1 (all positions "
        "are read alike) to 100 (one is read). Gradient descent on both matrices "
        "continues from there. The attention accuracy is the fraction of sequences in "
        "which attention finds the trigger; predictions call it lock. Version 0.1 tested "
        "small steps only, and its verdict was refuted."
    ),
    plain=(
        "with large first steps, whether a model finds the word that matters is settled "
        "at the very start; with small ones the start only predicts it."
    ),
    practice=(
        "If attention has not found its target early, check how large the first steps "
        "were. Small ones leave later training a chance, saturating ones do not."
    ),
    caveat=(
        "It depends on the step size. Large first steps saturate attention, which freezes "
        "it by construction; after small ones later training finds many of the triggers "
        "that they missed."
    ),
    attack=(
        "Two small steps of gradient descent are not the paper's early phase, and large "
        "ones freeze attention by construction. Which of the two is judged?"
    ),
    sweeps=(
        ATTENTION,
        SATURATING,
    ),
)


_ATTENDS = 0.5


class EarlyAndLate(NamedTuple):
    """Attention after the first two steps, and when training was done."""

    seed: int
    samples: float
    early_attention: float
    early_cosine: float
    late_attention: float


def analyse(evidence: Evidence) -> Finding:
    runs = grouped_by(evidence.runs(ATTENTION), attrgetter("problem.samples"))
    trained = _by_saturation(evidence.runs(SATURATING))
    smallest = runs[min(runs)]
    gains = {s: _gain(trainings) for s, trainings in trained.items()}
    areas = {s: _area_under_curve(trainings) for s, trainings in trained.items()}
    small, large = min(trained), max(trained)
    gained = ", ".join(f"{shown(gains[s])} at s = {s:g}" for s in sorted(gains))
    gained_small = gains[small]
    gained_large = gains[large]
    area_small = areas[small]
    area_large = areas[large]
    cosines = [_cosine(smallest), _cosine(runs[max(runs)])]
    recall = _recall([record for record in smallest if not _finds_trigger(record)])
    return Finding(
        statement=STATEMENT,
        judgements=judged(
            STATEMENT.name,
            {
                "cosine of attention with the trigger, largest batch": cosines[1],
                "cosine of attention with the trigger, smallest batch": cosines[0],
                "recall where attention has not locked, smallest batch": recall,
                "lock gained after the first steps, saturating steps": gained_large,
                "area under the curve of the early cosine, saturating steps": area_large,
                "area under the curve of the early cosine, small steps": area_small,
            },
        ),
        answer=(
            f"After first steps that saturate attention (s = {large:g}), later steps add "
            f"{shown(gained_large)} to attention accuracy: the first ones decide. After "
            f"small ones (s = {small:g}) later steps add {shown(gained_small)}: the first "
            "ones do not decide. The cosine that they leave still predicts which seeds "
            f"will find the trigger: the area under the curve is {shown(area_small)}, and "
            f"{shown(area_large)} with saturating steps (0.5 is chance). After the paper's "
            "three steps, the cosine of attention with the trigger goes from "
            f"{shown(cosines[0])} at the smallest training set to {shown(cosines[1])} at "
            "the largest. Where attention has not found the trigger, recall is "
            f"{shown(recall, 3)}."
        ),
        reply=(
            "Attention accuracy gained later, from small to saturating first steps: "
            f"{gained}. The verdict is on the paper's regime, large steps, and does not "
            "apply to small ones."
        ),
        picture=Picture(
            title=(
                f"Later steps add {gained_small.mean:.2f} to attention accuracy, after "
                f"large first steps only {gained_large.mean:.2f}"
            ),
            caption=(
                "The first steps leave attention logits with standard deviation s. AUC: of two "
                "seeds, how often the one that finds the trigger had the higher early cosine. "
                "Bars are 99.5 %."
            ),
            panels=[
                Panel(
                    title="after three steps",
                    x="N, samples",
                    y="fraction, or cosine",
                    log_x=True,
                    series=[
                        measured_series(label, [(n, of(records)) for n, records in runs.items()])
                        for label, of in (
                            ("attends to the trigger", _attention),
                            ("cosine with the trigger", _cosine),
                            ("recall", _recall),
                        )
                    ],
                ),
                Panel(
                    title="what later steps add",
                    x="s, scale of attention logits",
                    y="attention accuracy",
                    log_x=True,
                    series=[measured_series("gained later", gains.items())],
                ),
                Panel(
                    title="what the first steps predict",
                    x="s, scale of attention logits",
                    y="AUC, 0.5 is chance",
                    y_from=0.5,
                    log_x=True,
                    series=[measured_series("early cosine", areas.items())],
                ),
            ],
        ),
        rows=[
            {
                "samples": samples,
                "attention": _attention(records).mean,
                "cosine": _cosine(records).mean,
                "recall": _recall(records).mean,
                "seeds": len(records),
            }
            for samples, records in runs.items()
        ]
        + [
            {
                "saturation": s,
                "early attention": mean_over([run.early_attention for run in trainings]).mean,
                "late attention": mean_over([run.late_attention for run in trainings]).mean,
                "gain": gains[s].mean,
                "area under the curve": areas[s].mean,
                "trainings": len(trainings),
            }
            for s, trainings in trained.items()
        ],
    )


def _by_saturation(records: Sequence[Record]) -> dict[float, list[EarlyAndLate]]:
    groups = grouped_by(records, lambda record: record.problem["saturation"])
    return {
        size: [_early_and_late(record) for record in groups[size] if record.status is Status.OK]
        for size in sorted(groups)
    }


def _early_and_late(record: Record) -> EarlyAndLate:
    curves = (record.metrics[f"curve_{name}"] for name in ("attention", "cosine"))
    attention, cosine = (float(next(iter(curve))) for curve in curves)  # type: ignore[arg-type]
    late = record.accuracy("attention_accuracy")[0]
    return EarlyAndLate(record.seed, record.problem.samples, attention, cosine, late)


def _gain(trained: Sequence[EarlyAndLate]) -> Interval:
    """What later steps add to attention accuracy; the mean of a seed's batches, over seeds."""
    by_seed = grouped_by(trained, attrgetter("seed")).values()
    gains = ([run.late_attention - run.early_attention for run in runs] for runs in by_seed)
    return mean_over([sum(differences) / len(differences) for differences in gains])


def _area_under_curve(trained: Sequence[EarlyAndLate]) -> Interval:
    """How often, of two seeds of one batch, that which finds the trigger had the higher cosine."""
    seeds, seed = np.unique([run.seed for run in trained], return_inverse=True)
    samples, cosine, attention = (
        np.array([getattr(run, name) for run in trained])
        for name in ("samples", "early_cosine", "late_attention")
    )
    compared = (
        (samples[:, None] == samples) & (attention[:, None] > _ATTENDS) & (attention <= _ATTENDS)
    )
    above = cosine[:, None] - cosine
    # Of each two seeds, how many pairs of their runs are compared, and in how many it is so.
    pairs, right = np.zeros((2, len(seeds), len(seeds)))
    np.add.at(pairs, (seed[:, None], seed), compared)
    np.add.at(right, (seed[:, None], seed), compared * ((above > 0) + 0.5 * (above == 0)))

    def area(times: np.ndarray) -> np.ndarray:
        compared_pairs = (times @ pairs * times).sum(axis=1)
        compared_pairs[compared_pairs == 0] = math.nan
        area: np.ndarray = (times @ right * times).sum(axis=1) / compared_pairs
        return area

    return drawn_again(area, len(seeds))


def _cosine(records: Sequence[Record]) -> Interval:
    cosines = [record.trigger_cosine for record in records if record.status is Status.OK]
    mean, low, high = mean_over([cosine for cosine in cosines if cosine is not None])
    return Interval(mean, max(low, -1.0), min(high, 1.0))


def _finds_trigger(record: Record) -> bool:
    return record.status is Status.OK and record.accuracy("attention_accuracy")[0] >= _ATTENDS


def _share(name: str, records: Sequence[Record]) -> Interval:
    tested = [record for record in records if record.status is Status.OK]
    if not tested:
        return UNKNOWN
    shares, tests = zip(*(record.accuracy(name) for record in tested), strict=True)
    return mean_interval(shares, tests, LEVEL)


_attention, _recall = partial(_share, "attention_accuracy"), partial(_share, "recall_accuracy")
