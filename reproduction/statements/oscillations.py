"""Full training shows more than the first steps do: with large steps the loss oscillates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from recallscope.common.status import Status
from recallscope.experiment.record import Record
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.statistics.intervals import Interval
from recallscope.training.rates import largest_stable_step
from reproduction.evidence import Evidence
from reproduction.intervals import drawn_again, mean_over, shown
from reproduction.predictions import judged
from reproduction.series import measured_series
from reproduction.statement import Finding, Statement
from reproduction.sweeps import SizedSweep, runs

OSCILLATING = SizedSweep(
    name="oscillating",
    first_seed=1_800_000,
    small=runs(
        seeds=4,
        vocab=128,
        samples=2048,
        length=8,
        learner="gd",
        steps=300,
        dim=[20, 48],
        learning_rate=[60.0, 960.0],
    ),
    short=runs(
        seeds=8,
        vocab=128,
        samples=2048,
        length=8,
        learner="gd",
        steps=300,
        dim=[20, 48],
        learning_rate=[60.0, 960.0],
    ),
    full=runs(
        seeds=16,
        vocab=128,
        samples=2048,
        length=8,
        learner="gd",
        steps=300,
        dim=[20, 48],
        learning_rate=[60.0, 960.0],
    ),
)
"""Small steps and large ones, with fewer dimensions than it takes to separate the facts, and with
more."""

STATEMENT = Statement(
    name="oscillations",
    title="Full training can oscillate",
    statement="Full training has complex behaviour, such as oscillations.",
    source="Public reading notes on the paper, in one sentence. Where it happens is ours.",
    support=(
        "With fewer dimensions than it takes to separate the facts, large steps end at "
        "1.5 times the loss of small ones or more. The loss rises at more than a fifth of "
        "the evaluations in the second half (below a tenth with small steps). With more "
        "dimensions the same steps learn everything without oscillations."
    ),
    contradict=(
        "Large steps that end as low as small ones there, or a loss that rises as often "
        "with small steps or with more dimensions."
    ),
    background=(
        "The three steps are a beginning. Gradient descent that continues on both "
        "matrices meets the curvature of the loss. With fewer dimensions than the "
        "capacity threshold, no value matrix separates all facts. The minimum is then at "
        "finite weights, and steps longer than its curvature allows overshoot."
    ),
    plain=(
        "a training loss that swings may mean that the model has too little space for its facts."
    ),
    practice=(
        "A loss that goes up and down may mean a memory that is too small for its facts, "
        "as well as a learning rate that is too large. With enough dimensions, large "
        "steps only learn faster."
    ),
    caveat=(
        "The source blames embeddings that are not orthogonal. With a dimension for every "
        "fact neither orthogonal nor random ones oscillate (reproduction/studies/oscillations): "
        "space decides."
    ),
    attack=(
        "Any optimiser oscillates if its steps are large enough; that is no property of "
        "recall. What does the memory have to do with it?"
    ),
    sweeps=(OSCILLATING,),
)


_RISE = 1.01  # a loss that is more than one per cent higher has risen


class LossCurve(NamedTuple):
    """The final loss, how often the loss rose, and recall."""

    seed: int
    final_loss: float
    rises: float
    recall: float
    steps: list[float]
    losses: list[float]


def analyse(evidence: Evidence) -> Finding:
    curves: dict[int, dict[float, list[LossCurve]]] = defaultdict(lambda: defaultdict(list))
    edge: dict[int, float] = {}
    for record in evidence.runs(OSCILLATING):
        edge[record.problem.dim] = largest_stable_step(record.problem)
        here = curves[record.problem.dim][record.problem["learning_rate"]]
        if record.status is Status.OK:
            here.append(_training(record))
    at_few, at_many = min(curves), max(curves)
    few, many = curves[at_few], curves[at_many]
    small, large = min(few), max(few)
    rises = {
        (dim, rate): mean_over([run.rises for run in runs])
        for dim, rates in curves.items()
        for rate, runs in rates.items()
    }
    looks = "share of looks at which the loss rose"
    higher = _over(few[large], few[small])
    rises_few = rises[at_few, large]
    rises_few_small = rises[at_few, small]
    rises_many = rises[at_many, large]
    recall = mean_over([run.recall for run in many[large]])
    seeds = len(few[large])
    return Finding(
        statement=STATEMENT,
        judgements=judged(
            STATEMENT.name,
            {
                "loss at the large over the small step, fewer dimensions than the edge": higher,
                "share of looks at which the loss rose, large step, fewer dimensions": rises_few,
                "share of looks at which the loss rose, small step, fewer "
                "dimensions": rises_few_small,
                "share of looks at which the loss rose, large step, more dimensions": rises_many,
                "recall at the large step, more dimensions": recall,
            },
        ),
        answer=(
            f"With d = {at_few}, fewer dimensions than it takes to separate the facts, "
            f"steps of {large:g} end at {shown(higher)} times the loss of steps of "
            f"{small:g}, and the loss rises at {shown(rises_few)} of the evaluations in "
            f"the second half ({shown(rises_few_small)} with small steps). With d = "
            f"{at_many} the same large steps end at recall {shown(recall)}, and the loss "
            f"rises at {shown(rises_many)} of the evaluations."
        ),
        reply=(
            f"The same step, {large:g}, on the same task oscillates at d = {at_few} and "
            f"not at d = {at_many}: rises at {shown(rises_few)} against "
            f"{shown(rises_many)} of the evaluations. Where facts cannot be separated, the "
            "minimum is at finite weights and has a curvature that large steps overshoot. "
            "Where they can, there is none."
        ),
        picture=Picture(
            title=(
                f"Steps that oscillate at d = {at_few} only learn faster at d = {at_many}, "
                "where all facts fit"
            ),
            caption=(
                f"Loss of gradient descent on both matrices: means and ranges over {seeds} seeds. "
                "Stable: the largest step that is stable at the start, 2 over the curvature."
            ),
            panels=[
                Panel(
                    x="step",
                    y="loss",
                    log_x=True,
                    log_y=True,
                    series=[
                        _curve(f"d = {dim}, step {rate:g} = {rate / edge[dim]:.2g} × stable", runs)
                        for dim, rates in curves.items()
                        for rate, runs in rates.items()
                    ],
                ),
            ],
        ),
        rows=[
            {
                "dim": dim,
                "learning rate": rate,
                "final loss": mean_over([run.final_loss for run in runs]).mean,
                looks: rises[dim, rate].mean,
                "recall": mean_over([run.recall for run in runs]).mean,
                "trainings": len(runs),
            }
            for dim, rates in curves.items()
            for rate, runs in rates.items()
        ],
    )


def _training(record: Record) -> LossCurve:
    steps, losses = (
        [float(value) for value in record.metrics[f"curve_{name}"]]  # type: ignore[union-attr]
        for name in ("step", "loss")
    )
    later = np.array(losses[len(losses) // 2 :])
    rose = later[1:] > _RISE * later[:-1]
    return LossCurve(
        seed=record.seed,
        final_loss=record.metric("final_loss"),
        rises=float(rose.mean()) if len(rose) else 0.0,
        recall=record.accuracy("recall_accuracy")[0],
        steps=steps,
        losses=losses,
    )


def _over(first: Sequence[LossCurve], second: Sequence[LossCurve]) -> Interval:
    """The mean loss of some trainings over that of others, at the same seeds."""
    other = {run.seed: run.final_loss for run in second}
    pairs = [(run.final_loss, other[run.seed]) for run in first if run.seed in other]
    losses, others = np.array(pairs).reshape(-1, 2).T
    return drawn_again(lambda times: times @ losses / (times @ others), len(pairs))


def _curve(label: str, runs: Sequence[LossCurve]) -> Series:
    """The mean over seeds and its range; one that has converged keeps its last loss."""
    if not runs:
        return measured_series(label, [])
    steps = max((run.steps[1:] for run in runs), key=len)
    losses = np.array([np.interp(steps, run.steps, run.losses) for run in runs])
    ends = (losses.min(axis=0).tolist(), losses.max(axis=0).tolist())
    return Series(label, Kind.MEASURED, steps, losses.mean(axis=0).tolist(), *ends)
