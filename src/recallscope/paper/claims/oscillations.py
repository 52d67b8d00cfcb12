"""Full training shows more than the first steps do: with large steps the loss oscillates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from recallscope.learning.training.rates import largest_stable_step
from recallscope.paper.claim import Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.findings import finding_of
from recallscope.paper.intervals import drawn_again, mean_over
from recallscope.paper.series import measured_series
from recallscope.record import Record, Status
from recallscope.results.panels import Kind, Series
from recallscope.statistics.intervals import Interval

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
    found: dict[int, dict[float, list[LossCurve]]] = defaultdict(lambda: defaultdict(list))
    edge: dict[int, float] = {}
    for record in evidence.runs("oscillating"):
        edge[record.problem.dim] = largest_stable_step(record.problem)
        here = found[record.problem.dim][record.problem["learning_rate"]]
        if record.status is Status.OK:
            here.append(_training(record))
    at_few, at_many = min(found), max(found)
    few, many = found[at_few], found[at_many]
    small, large = min(few), max(few)
    rises = {
        (dim, rate): mean_over([run.rises for run in runs])
        for dim, rates in found.items()
        for rate, runs in rates.items()
    }
    looks = "share of looks at which the loss rose"
    return finding_of(
        "oscillations",
        at_few=at_few,
        at_many=at_many,
        small=small,
        large=large,
        higher=_over(few[large], few[small]),
        rises_few=rises[at_few, large],
        rises_few_small=rises[at_few, small],
        rises_many=rises[at_many, large],
        recall=mean_over([run.recall for run in many[large]]),
        seeds=len(few[large]),
        series=[
            [
                _curve(f"d = {dim}, step {rate:g} = {rate / edge[dim]:.2g} × stable", runs)
                for dim, rates in found.items()
                for rate, runs in rates.items()
            ]
        ],
        rows=[
            {
                "dim": dim,
                "learning rate": rate,
                "final loss": mean_over([run.final_loss for run in runs]).mean,
                looks: rises[dim, rate].mean,
                "recall": mean_over([run.recall for run in runs]).mean,
                "trainings": len(runs),
            }
            for dim, rates in found.items()
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
    return drawn_again(lambda pairs: sum(a for a, _ in pairs) / sum(b for _, b in pairs), pairs)


def _curve(label: str, runs: Sequence[LossCurve]) -> Series:
    """The mean over seeds and its range; one that has converged keeps its last loss."""
    if not runs:
        return measured_series(label, [])
    steps = max((run.steps[1:] for run in runs), key=len)
    losses = np.array([np.interp(steps, run.steps, run.losses) for run in runs])
    ends = (losses.min(axis=0).tolist(), losses.max(axis=0).tolist())
    return Series(label, Kind.MEASURED, steps, losses.mean(axis=0).tolist(), *ends)
