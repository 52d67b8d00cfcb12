"""The first steps decide whether attention locks, and attention learns the trigger's direction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from recallscope.intervals import Interval, mean_interval
from recallscope.measurement.paired import paired_difference
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.evidence import Evidence, Reading
from recallscope.paper.measures import EARLY_STEPS, LATE_STEPS, LOCK_TESTS
from recallscope.paper.numbers import mean_over, shown
from recallscope.paper.verdict import LEVEL, judge
from recallscope.pictures.panels import Kind, Panel, Picture, Series
from recallscope.record import Record, Status

_GAIN = 0.1
_NOT_DECIDED = (
    " So attention learns the direction of the trigger, but its first steps do not decide for "
    "good: later ones lock what they did not."
)
_WHEN = (("early", EARLY_STEPS), ("late", LATE_STEPS))


def analyse(evidence: Evidence) -> Finding:
    runs = _by_samples(evidence.runs("locking"))
    trained = _by_batch(evidence.readings("training-on"))
    smallest, largest = runs[min(runs)], runs[max(runs)]
    cosines = [_cosine(each) for each in (smallest, largest)]
    recall = _recall(smallest)
    last = trained[max(trained)]
    before, after = ([each.values[f"{when}_lock"] for each in last] for when in ("early", "late"))
    early, late, gain = paired_difference(before, after, [LOCK_TESTS] * len(last), LEVEL)
    cosine = mean_over([each.values["late_cosine"] for each in last])
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
            f"Ordinary training finds the mark {shown(early)} of the time after {EARLY_STEPS} "
            f"steps and {shown(late)} after {LATE_STEPS}. This is descent in small steps on "
            f"{max(trained):,.0f} samples; the cosine of attention with the trigger is then "
            f"{shown(cosine)}. After the paper's three steps it goes from {shown(cosines[0])} at "
            f"the smallest batch to {shown(cosines[1])} at the largest; where attention has not "
            f"locked, recall is {shown(recall, 3)}." + (_NOT_DECIDED if gain.low > _GAIN else "")
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
                        _series("finds the mark", {n: _lock(each) for n, each in runs.items()}),
                        _series(
                            "cosine with the trigger",
                            {n: _cosine(each) for n, each in runs.items()},
                        ),
                        _series("recall", {n: _recall(each) for n, each in runs.items()}),
                    ],
                ),
                Panel(
                    title="ordinary descent",
                    x="N, samples",
                    y="finds the mark",
                    log_x=True,
                    series=[
                        _series(
                            f"after {steps} steps",
                            {n: _found_the_mark(each, when) for n, each in trained.items()},
                        )
                        for when, steps in _WHEN
                    ],
                ),
            ],
        ),
        rows=[
            {
                "samples": samples,
                "steps": "three",
                "lock": _lock(each).mean,
                "cosine": _cosine(each).mean,
                "recall": _recall(each).mean,
                "seeds": len(each),
            }
            for samples, each in runs.items()
        ]
        + [
            {
                "samples": samples,
                "steps": steps,
                "lock": _found_the_mark(each, when).mean,
                "cosine": mean_over([reading.values[f"{when}_cosine"] for reading in each]).mean,
                "seeds": len(each),
            }
            for samples, each in trained.items()
            for when, steps in _WHEN
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


def _cosine(records: Sequence[Record]) -> Interval:
    return mean_over([record.trigger_cosine or 0.0 for record in records])


def _lock(records: Sequence[Record]) -> Interval:
    return _share([record.lock_accuracy or 0.0 for record in records], records)


def _recall(records: Sequence[Record]) -> Interval:
    return _share([record.recall_accuracy or 0.0 for record in records], records)


def _share(shares: Sequence[float], records: Sequence[Record]) -> Interval:
    return mean_interval(shares, [record.test_samples or 0 for record in records], LEVEL)


def _found_the_mark(readings: Sequence[Reading], when: str) -> Interval:
    shares = [reading.values[f"{when}_lock"] for reading in readings]
    return mean_interval(shares, [LOCK_TESTS] * len(shares), LEVEL)


def _series(label: str, found: dict[float, Interval]) -> Series:
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
