"""The first steps decide whether attention locks, and attention learns the trigger's direction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from recallscope.intervals import Interval
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.evidence import Evidence, Reading
from recallscope.paper.measures import EARLY_STEPS, LATE_STEPS
from recallscope.paper.numbers import mean_over, shown
from recallscope.paper.verdict import judge
from recallscope.pictures.panels import Kind, Panel, Picture, Series
from recallscope.record import Record, Status

_GAIN = 0.1


def analyse(evidence: Evidence) -> Finding:
    runs = _by_samples(evidence.runs("locking"))
    trained = _by_batch(evidence.readings("training-on"))
    smallest, largest = runs[min(runs)], runs[max(runs)]
    cosines = [_over(each, lambda r: r.trigger_cosine or 0.0) for each in (smallest, largest)]
    recall = _over(smallest, lambda r: r.recall_accuracy or 0.0)
    late = trained[max(trained)]
    gain = mean_over([each.values["late_lock"] - each.values["early_lock"] for each in late])
    early = mean_over([each.values["early_lock"] for each in late])
    cosine = mean_over([each.values["late_cosine"] for each in late])
    judgements = [
        judge("cosine of attention with the trigger, largest batch", cosines[1], above=0.9),
        judge("cosine of attention with the trigger, smallest batch", cosines[0], below=0.5),
        judge("recall where attention has not locked, smallest batch", recall, below=0.1),
        judge(
            f"lock gained from step {EARLY_STEPS} to {LATE_STEPS} of small steps", gain, below=_GAIN
        ),
    ]
    return Finding(
        judgements=judgements,
        answer=(
            f"The three steps do learn the trigger: the cosine of the attention vector with it "
            f"goes from {shown(cosines[0])} at the smallest batch to {shown(cosines[1])} at the "
            f"largest, and where attention has not locked, recall is {shown(recall, 3)}. But the "
            f"first steps do not decide for good. In ordinary descent with small steps on batches "
            f"too small for three steps, attention finds the mark {shown(early)} of the time after "
            f"{EARLY_STEPS} steps, {shown(gain)} more after {LATE_STEPS}, and its cosine with the "
            f"trigger is then {shown(cosine)}."
            if gain.low > _GAIN
            else f"The cosine of the attention vector with the trigger goes from "
            f"{shown(cosines[0])} at the smallest batch to {shown(cosines[1])} at the largest; "
            f"where attention has not locked, recall is {shown(recall, 3)}. In ordinary descent "
            f"with small steps, attention finds the mark {shown(early)} of the time after "
            f"{EARLY_STEPS} steps and {shown(gain)} more after {LATE_STEPS}."
        ),
        picture=Picture(
            caption="Left: what the second of three steps makes of attention, over the batch. "
            "Right: ordinary descent in small steps on both matrices, on batches too small for "
            "three steps to lock. Bars are 99.5 %.",
            panels=[
                Panel(
                    title="three steps",
                    x="N, samples",
                    y="share, or cosine",
                    log_x=True,
                    series=[
                        _series("finds the mark", runs, lambda r: r.lock_accuracy or 0.0),
                        _series("cosine with the trigger", runs, lambda r: r.trigger_cosine or 0.0),
                        _series("recall", runs, lambda r: r.recall_accuracy or 0.0),
                    ],
                ),
                Panel(
                    title="ordinary descent",
                    x="N, samples",
                    y="finds the mark",
                    log_x=True,
                    series=[
                        _trained_series(f"after {EARLY_STEPS} steps", trained, "early_lock"),
                        _trained_series(f"after {LATE_STEPS} steps", trained, "late_lock"),
                    ],
                ),
            ],
        ),
        rows=[
            {
                "samples": samples,
                "steps": "three",
                "lock": _over(each, lambda r: r.lock_accuracy or 0.0).mean,
                "cosine": _over(each, lambda r: r.trigger_cosine or 0.0).mean,
                "recall": _over(each, lambda r: r.recall_accuracy or 0.0).mean,
                "seeds": len(each),
            }
            for samples, each in runs.items()
        ]
        + [
            {
                "samples": samples,
                "steps": steps,
                "lock": mean_over([reading.values[f"{when}_lock"] for reading in each]).mean,
                "cosine": mean_over([reading.values[f"{when}_cosine"] for reading in each]).mean,
                "seeds": len(each),
            }
            for samples, each in trained.items()
            for when, steps in (("early", EARLY_STEPS), ("late", LATE_STEPS))
        ],
    )


def _by_samples(records: Sequence[Record]) -> dict[float, list[Record]]:
    groups: dict[float, list[Record]] = defaultdict(list)
    for record in records:
        if record.status is Status.OK:
            groups[record.problem.samples].append(record)
    return groups


def _by_batch(readings: Sequence[Reading]) -> dict[float, list[Reading]]:
    groups: dict[float, list[Reading]] = defaultdict(list)
    for reading in readings:
        groups[reading.problem.samples].append(reading)
    return groups


def _over(records: Sequence[Record], number: Callable[[Record], float]) -> Interval:
    return mean_over([number(record) for record in records])


def _series(
    label: str, runs: dict[float, list[Record]], number: Callable[[Record], float]
) -> Series:
    return _with_bars(label, {samples: _over(each, number) for samples, each in runs.items()})


def _trained_series(label: str, trained: dict[float, list[Reading]], name: str) -> Series:
    return _with_bars(
        label,
        {
            samples: mean_over([reading.values[name] for reading in each])
            for samples, each in trained.items()
        },
    )


def _with_bars(label: str, found: dict[float, Interval]) -> Series:
    return Series(
        label=label,
        kind=Kind.MEASURED,
        x=list(found),
        y=[each.mean for each in found.values()],
        low=[each.low for each in found.values()],
        high=[each.high for each in found.values()],
    )


CLAIM = Claim(
    name="first-steps",
    title="Do the first steps decide whether attention locks?",
    statement="Attention learns the direction of the trigger, and whether it locks onto the mark "
    "is decided by the first steps of training.",
    support="With a large batch the attention vector has a cosine above 0.9 with the trigger, "
    "with a small one below 0.5, and then recall is below 0.1; and where the first steps of "
    f"ordinary training have not locked, {LATE_STEPS} of them gain less than {_GAIN:g}.",
    contradict="A cosine or recall on the wrong side, or later steps that lock attention after "
    f"all: a gain above {_GAIN:g}.",
    background="The paper's training is three large steps. The attention vector is what the second "
    "step adds: it should point along the trigger, which marks the position to attend to. A "
    "reviewer asked the authors about this direction. We also look at what happens when training "
    "goes on in the ordinary way, in small steps on the same batch. A few such runs had been "
    "looked at before the prediction on further steps was written.",
    sweeps=("locking", "training-on"),
    analyse=analyse,
)
