"""Samples, dimensions and width help; vocabulary and length hurt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from recallscope.paper.analysis import mean_over, measured_series, shown
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.verdict import Judgement, judge
from recallscope.plotting.labels import LETTERS
from recallscope.plotting.panels import Panel, Picture
from recallscope.problem import Problem
from recallscope.record import Record, Status
from recallscope.statistics.intervals import Interval
from recallscope.theory.sizes import GROWS

_CLEARLY = 0.02  # of recall: more than this the wrong way is counted as an exception


class Effect(NamedTuple):
    """What one step up of a size does to recall, at equal values of all others."""

    model: str
    name: str
    mean: Interval
    pairs: int
    wrong_way: int


def analyse(evidence: Evidence) -> Finding:
    effects = _effects("Attention alone", evidence.runs("factorial"))
    effects += _effects("With an MLP", evidence.runs("factorial-mlp"))
    exceptions = sum(effect.wrong_way for effect in effects)
    pairs = sum(effect.pairs for effect in effects)
    return Finding(
        judgements=[_judged(effect) for effect in effects],
        answer=(
            " ".join(
                f"{model}: "
                + ", ".join(f"{LETTERS[each.name]} {shown(each.mean)}" for each in of_it)
                + "."
                for model, of_it in _by_model(effects).items()
            )
            + " These are the changes of recall with one step up of each size at equal values of "
            f"the others, on average. Of {pairs} such steps, {exceptions} change mean recall the "
            f"other way by more than {_CLEARLY:g}."
        ),
        picture=Picture(
            caption="The change of recall when one size takes its next value and all others stay, "
            "averaged over a full factorial design. Bars are 99.5 % over seeds.",
            panels=[
                Panel(
                    title="what one step up does to recall",
                    x="size that is raised",
                    y="change of recall",
                    series=[
                        measured_series(
                            model,
                            [LETTERS[effect.name] for effect in shown_here],
                            [effect.mean for effect in shown_here],
                        )
                        for model, shown_here in _by_model(effects).items()
                    ],
                )
            ],
        ),
        rows=[
            {
                "model": effect.model,
                "size": effect.name,
                "change of recall": effect.mean.mean,
                "low": effect.mean.low,
                "high": effect.mean.high,
                "steps": effect.pairs,
                "steps the other way": effect.wrong_way,
            }
            for effect in effects
        ],
    )


def _judged(effect: Effect) -> Judgement:
    model = effect.model[0].lower() + effect.model[1:]
    what = f"change of recall when {LETTERS[effect.name]} rises, {model}"
    if GROWS[effect.name]:
        return judge(what, effect.mean, above=0.0)
    return judge(what, effect.mean, below=0.0)


def _by_model(effects: Sequence[Effect]) -> dict[str, list[Effect]]:
    models: dict[str, list[Effect]] = {}
    for effect in effects:
        models.setdefault(effect.model, []).append(effect)
    return models


def _effects(model: str, records: Sequence[Record]) -> list[Effect]:
    """Seeds are what is independent: each gives one average over all steps of a size."""
    recall: dict[Problem, dict[int, float]] = defaultdict(dict)  # by seed
    for record in records:
        if record.status is Status.OK:
            recall[record.problem][record.seed] = record.accuracy("recall_accuracy")[0]
    values_of = {name: sorted({getattr(r.problem, name) or 0 for r in records}) for name in GROWS}
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
        right = 1 if GROWS[name] else -1
        effects.append(
            Effect(
                model=model,
                name=name,
                mean=mean_over([float(np.mean(changes)) for changes in by_seed.values()]),
                pairs=len(by_pair),
                wrong_way=sum(
                    right * float(np.mean(changes)) < -_CLEARLY for changes in by_pair.values()
                ),
            )
        )
    return effects


CLAIM = Claim(
    name="directions",
    title="N, d and m help; V and L hurt",
    statement="More samples N, more dimensions d and a wider MLP m raise recall; more facts V and "
    "longer sequences L lower it.",
    support="Over a full factorial design, one step up of N, d or m raises recall on average, and "
    "one step up of V or L lowers it, for attention alone and with an MLP.",
    contradict="An average change on the wrong side of zero for any of them.",
    background="The direction of each effect is the least that a theory of capacity must get "
    "right. Every size is changed at every combination of the others, so that no effect hides "
    "behind another.",
    sweeps=("factorial", "factorial-mlp"),
    analyse=analyse,
    plain="more data, more dimensions and a wider MLP help a model to remember; more facts and "
    "longer texts make it harder.",
)
