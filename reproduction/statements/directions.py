"""Samples, dimensions and width help; vocabulary and length hurt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from recallscope.common.status import Status
from recallscope.plot.grouping import grouped_by
from recallscope.plot.labels import LETTERS
from recallscope.plot.panels import Panel, Picture
from recallscope.problem.axes import SIZES
from recallscope.statistics.intervals import Interval
from reproduction.evidence import Evidence
from reproduction.intervals import interval_row, mean_over, shown
from reproduction.predictions import judged
from reproduction.series import measured_series
from reproduction.statement import Finding, Statement
from reproduction.sweeps import SizedSweep, runs

FACTORIAL = SizedSweep(
    name="factorial",
    first_seed=600_000,
    small=runs(
        seeds=4,
        embedding="sphere",
        vocab=[64, 128],
        samples=[512, 2048],
        dim=[24, 48],
        length=[8, 64],
    ),
    short=runs(
        seeds=8,
        embedding="sphere",
        vocab=[128, 256, 512],
        samples=[1024, 4096, 16384],
        dim=[32, 64, 128],
        length=[8, 32, 128],
    ),
    full=runs(
        seeds=16,
        embedding="sphere",
        vocab=[128, 256, 512],
        samples=[1024, 4096, 16384],
        dim=[32, 64, 128],
        length=[8, 32, 128],
    ),
)
"""Every size at every value of the others, attention alone."""

FACTORIAL_MLP = SizedSweep(
    name="factorial-mlp",
    first_seed=600_000,
    small=runs(
        seeds=4,
        activation="relu",
        vocab=[64, 128],
        samples=[512, 2048],
        dim=[24, 48],
        length=[8, 64],
        width=[64, 256],
    ),
    short=runs(
        seeds=8,
        activation="relu",
        vocab=[128, 256, 512],
        samples=[1024, 4096, 16384],
        dim=[32, 64, 128],
        length=[8, 32, 128],
        width=[64, 256],
    ),
    full=runs(
        seeds=16,
        activation="relu",
        vocab=[128, 256, 512],
        samples=[1024, 4096, 16384],
        dim=[32, 64, 128],
        length=[8, 32, 128],
        width=[64, 256, 1024],
    ),
)
"""Every size at every value of the others, with an MLP."""

STATEMENT = Statement(
    name="directions",
    title="N, d and m help; V and L hurt",
    statement=(
        "More samples N, more dimensions d and a wider MLP m raise recall; more facts V "
        "and longer sequences L lower it."
    ),
    source="Public reading notes on the paper (not by its authors).",
    support=(
        "Over a full factorial design, one step up of N, d or m raises recall on average, "
        "and one step up of V or L lowers it, for attention alone and with an MLP."
    ),
    contradict="An average change on the wrong side of zero for any of them.",
    background=(
        "The direction of each effect is the least that a theory of capacity must get "
        "right. Every size is changed at every combination of the others, so no effect "
        "hides behind another."
    ),
    plain=(
        "more data, more dimensions and a wider MLP help a model to remember; more facts "
        "and longer texts make it harder."
    ),
    practice=(
        "More data, more dimensions, a wider MLP: each helps on average. Near the ends of "
        "the range a step may do nothing, so find the dominant error source before you "
        "pay for more."
    ),
    attack=(
        "An average over a design of your choice can be made to have any sign. Where do "
        "single steps go the other way?"
    ),
    sweeps=(
        FACTORIAL,
        FACTORIAL_MLP,
    ),
)


_ORDER = ("samples", "dim", "width", "vocab", "length")  # those that help first
_COLUMNS = (*_ORDER, "seed", "status", "recall_accuracy")


_NAMED = 4  # of the steps at which more data hurts: the worst
_CLEARLY = 0.02  # of recall: more than this the wrong way is counted as an exception


class Step(NamedTuple):
    """One step up of a size at given values of the others, and the change of mean recall."""

    sizes: Mapping[str, int]
    name: str
    to: int
    change: float

    def __str__(self) -> str:
        """Such as: N from 1,024 to 4,096 at V=512, d=32, L=128, −0.031."""
        others = ", ".join(
            f"{LETTERS[name]}={self.sizes[name]}"
            for name in _ORDER
            if name != self.name and self.sizes[name]
        )
        start = self.sizes[self.name]
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
    effects = _effects("Attention alone", evidence.rows(FACTORIAL, *_COLUMNS))
    effects += _effects("With an MLP", evidence.rows(FACTORIAL_MLP, *_COLUMNS))
    by_model = grouped_by(effects, attrgetter("model"))
    exceptions = [step for effect in effects for step in effect.wrong_way]
    steps = sum(effect.pairs for effect in effects)
    change = {
        model: {LETTERS[effect.name]: effect.mean for effect in of_it}
        for model, of_it in by_model.items()
    }
    right_way = steps - len(exceptions)
    where_data_hurts = _where_data_hurts(exceptions)
    return Finding(
        statement=STATEMENT,
        judgements=judged(
            STATEMENT.name,
            {
                "change of recall when N rises, attention alone": change["Attention alone"]["N"],
                "change of recall when d rises, attention alone": change["Attention alone"]["d"],
                "change of recall when V rises, attention alone": change["Attention alone"]["V"],
                "change of recall when L rises, attention alone": change["Attention alone"]["L"],
                "change of recall when N rises, with an MLP": change["With an MLP"]["N"],
                "change of recall when d rises, with an MLP": change["With an MLP"]["d"],
                "change of recall when m rises, with an MLP": change["With an MLP"]["m"],
                "change of recall when V rises, with an MLP": change["With an MLP"]["V"],
                "change of recall when L rises, with an MLP": change["With an MLP"]["L"],
            },
        ),
        answer=(
            f"Attention alone: N {shown(change['Attention alone']['N'])}, d "
            f"{shown(change['Attention alone']['d'])}, V "
            f"{shown(change['Attention alone']['V'])}, L "
            f"{shown(change['Attention alone']['L'])}. With an MLP: N "
            f"{shown(change['With an MLP']['N'])}, d {shown(change['With an MLP']['d'])}, "
            f"m {shown(change['With an MLP']['m'])}, V "
            f"{shown(change['With an MLP']['V'])}, L {shown(change['With an MLP']['L'])}. "
            "These are mean changes of recall when one size takes its next value and the "
            f"others stay. Of {steps} such steps, {len(exceptions)} change mean recall the "
            f"other way by more than {_CLEARLY:g}. {where_data_hurts}"
        ),
        reply=(
            f"{right_way} of {steps} single steps do not go the wrong way by more than "
            f"{_CLEARLY:g}, so the averages do not hide a mixture."
        ),
        picture=Picture(
            caption=(
                "Change of recall when one size takes its next value and all others stay, "
                "averaged over a full factorial design. Bars are 99.5 % over seeds."
            ),
            panels=[
                Panel(
                    title="effect of one step up on recall",
                    x="size that is raised",
                    y="change of recall",
                    series=[
                        measured_series(
                            model, [(LETTERS[effect.name], effect.mean) for effect in of_it]
                        )
                        for model, of_it in by_model.items()
                    ],
                ),
            ],
        ),
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


def _effects(model: str, runs: Sequence[Mapping[str, Any]]) -> list[Effect]:
    """Effects with intervals over seeds: each seed gives one average over all steps of a size."""
    recall: dict[tuple[int, ...], dict[int, float]] = defaultdict(dict)  # by sizes, then seed
    for run in runs:
        sizes = tuple(int(run[name] or 0) for name in _ORDER)
        if run["status"] == Status.OK:
            recall[sizes][run["seed"]] = run["recall_accuracy"]
    effects = []
    for place, name in enumerate(_ORDER):
        following = dict(pairwise(sorted({int(run[name] or 0) for run in runs})))
        if not following:
            continue
        by_seed: dict[int, list[float]] = defaultdict(list)
        steps = []
        for sizes, before in recall.items():
            if sizes[place] not in following:
                continue
            larger = following[sizes[place]]
            after = recall.get((*sizes[:place], larger, *sizes[place + 1 :]), {})
            changes = {seed: after[seed] - before[seed] for seed in before if seed in after}
            if changes:
                for seed, change in changes.items():
                    by_seed[seed].append(change)
                mean = float(np.mean(list(changes.values())))
                steps.append(Step(dict(zip(_ORDER, sizes, strict=True)), name, larger, mean))
        right = 1 if SIZES[name].grows else -1
        effects.append(
            Effect(
                model=model,
                name=name,
                mean=mean_over([float(np.mean(changes)) for changes in by_seed.values()]),
                pairs=len(steps),
                wrong_way=[step for step in steps if right * step.change < -_CLEARLY],
            )
        )
    return effects
