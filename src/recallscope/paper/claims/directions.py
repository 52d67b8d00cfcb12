"""Samples, dimensions and width help; vocabulary and length hurt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from recallscope.common.grouping import grouped_by
from recallscope.paper.claim import Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.findings import finding_of
from recallscope.paper.intervals import interval_row, mean_over
from recallscope.paper.series import measured_series
from recallscope.parts.axes import SIZES
from recallscope.problem import Problem
from recallscope.record import Record, Status
from recallscope.results.labels import LETTERS
from recallscope.statistics.intervals import Interval

_ORDER = ("samples", "dim", "width", "vocab", "length")  # those that help first


_NAMED = 4  # of the steps at which more data hurts: the worst
_CLEARLY = 0.02  # of recall: more than this the wrong way is counted as an exception


class Step(NamedTuple):
    """One step up of a size at given values of the others, and the change of mean recall."""

    problem: Problem
    name: str
    to: int
    change: float

    def __str__(self) -> str:
        """Such as: N from 1,024 to 4,096 at V=512, d=32, L=128, −0.031."""
        others = ", ".join(
            f"{LETTERS[name]}={getattr(self.problem, name)}"
            for name in _ORDER
            if name != self.name and getattr(self.problem, name)
        )
        start = getattr(self.problem, self.name)
        change = f"{self.change:+.3f}".replace("-", "−")
        return f"{LETTERS[self.name]} from {start:,} to {self.to:,} at {others}: {change}"


class Effect(NamedTuple):
    """What one step up of a size does to recall, at equal values of all others."""

    model: str
    name: str
    mean: Interval
    pairs: int
    wrong_way: list[Step]


def analyse(evidence: Evidence) -> Finding:
    effects = _effects("Attention alone", evidence.runs("factorial"))
    effects += _effects("With an MLP", evidence.runs("factorial-mlp"))
    by_model = grouped_by(effects, attrgetter("model"))
    exceptions = [step for effect in effects for step in effect.wrong_way]
    steps = sum(effect.pairs for effect in effects)
    return finding_of(
        "directions",
        change={
            model: {LETTERS[each.name]: each.mean for each in of_it}
            for model, of_it in by_model.items()
        },
        steps=steps,
        exceptions=len(exceptions),
        right_way=steps - len(exceptions),
        clearly=_CLEARLY,
        where_data_hurts=_where_data_hurts(exceptions),
        series=[
            [
                measured_series(model, [(LETTERS[each.name], each.mean) for each in of_it])
                for model, of_it in by_model.items()
            ]
        ],
        rows=[
            {"model": effect.model, "size": effect.name}
            | interval_row("change of recall", effect.mean)
            | {"steps": effect.pairs, "steps the other way": len(effect.wrong_way)}
            for effect in effects
        ],
    )


def _where_data_hurts(exceptions: Sequence[Step]) -> str:
    steps = [step for step in exceptions if step.name == "samples"]
    if not steps:
        return "More data hurts nowhere by as much."
    worst = sorted(steps, key=lambda step: step.change)[:_NAMED]
    return f"More data hurts in {len(steps)}: " + "; ".join(map(str, worst)) + "."


def _effects(model: str, records: Sequence[Record]) -> list[Effect]:
    """Effects with intervals over seeds: each seed gives one average over all steps of a size."""
    recall: dict[Problem, dict[int, float]] = defaultdict(dict)  # by seed
    for record in records:
        if record.status is Status.OK:
            recall[record.problem][record.seed] = record.accuracy("recall_accuracy")[0]
    values_of = {name: sorted({getattr(r.problem, name) or 0 for r in records}) for name in _ORDER}
    effects = []
    for name, values in values_of.items():
        if len(values) < 2:
            continue
        following = dict(pairwise(values))
        by_seed: dict[int, list[float]] = defaultdict(list)
        by_pair: dict[Problem, list[float]] = defaultdict(list)
        for problem, before in recall.items():
            if (value := getattr(problem, name)) not in following:
                continue
            after = recall.get(problem.replace(**{name: following[value]}), {})
            for seed in filter(after.__contains__, before):
                by_seed[seed].append(after[seed] - before[seed])
                by_pair[problem].append(after[seed] - before[seed])
        right = 1 if SIZES[name].grows else -1
        steps = [
            Step(problem, name, following[getattr(problem, name)], float(np.mean(changes)))
            for problem, changes in by_pair.items()
        ]
        effects.append(
            Effect(
                model=model,
                name=name,
                mean=mean_over([float(np.mean(changes)) for changes in by_seed.values()]),
                pairs=len(by_pair),
                wrong_way=[step for step in steps if right * step.change < -_CLEARLY],
            )
        )
    return effects
