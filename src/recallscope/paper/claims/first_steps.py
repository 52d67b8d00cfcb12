"""The first steps decide whether attention locks, and attention learns the trigger's direction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from recallscope.paper.analysis import UNKNOWN, mean_over, measured_series, shown
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.verdict import LEVEL, judge
from recallscope.plotting.panels import Panel, Picture, Series
from recallscope.record import Record, Status
from recallscope.statistics.intervals import Interval, mean_interval
from recallscope.validation.measures import EARLY_STEPS, LATE_STEPS, LOCK_TESTS

_GAIN = 0.1
_LOCKED = 0.5
_NOT_DECIDED = (
    " So the first steps of ordinary training do not decide for good: later ones lock much of what "
    "they did not."
)
_WHEN = (("early", EARLY_STEPS), ("late", LATE_STEPS))


def analyse(evidence: Evidence) -> Finding:
    runs = _by_batch(evidence.runs("locking"))
    readings = evidence.measures("training-on")
    trained = _by_batch(readings)
    smallest, largest = runs[min(runs)], runs[max(runs)]
    cosines = [_cosine(each) for each in (smallest, largest)]
    recall = _recall([each for each in smallest if not _has_locked(each)])
    missed = [each for each in readings if each.metric("early_lock") < _LOCKED]
    mended = sum(each.metric("late_lock") >= _LOCKED for each in missed)
    gain = _gain(missed)
    judgements = [
        judge("cosine of attention with the trigger, largest batch", cosines[1], above=0.9),
        judge("cosine of attention with the trigger, smallest batch", cosines[0], below=0.5),
        judge("recall where attention has not locked, smallest batch", recall, below=0.1),
        judge(
            f"lock gained from step {EARLY_STEPS} to {LATE_STEPS} where the first have not locked",
            gain,
            below=_GAIN,
        ),
    ]
    return Finding(
        judgements=judgements,
        answer=(
            f"Of {len(missed)} runs of ordinary training that had not locked after {EARLY_STEPS} "
            f"steps, {mended} had after {LATE_STEPS}. This is descent in small steps on both "
            f"matrices, and locked is to find the mark more often than not; those runs gain "
            f"{shown(gain)} on average ({_mended_by_batch(missed)}). After the paper's three steps "
            f"the cosine of attention with the trigger goes from {shown(cosines[0])} at the "
            f"smallest batch to {shown(cosines[1])} at the largest; where attention has not "
            f"locked, recall is {shown(recall, 3)}." + (_NOT_DECIDED if gain.low > _GAIN else "")
        ),
        picture=Picture(
            caption="Left: what the second of three steps makes of attention, over the batch. "
            "Right: ordinary descent in small steps on both matrices, on small batches of a "
            "problem with fewer dimensions. Bars are 99.5 %.",
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
                "cosine": mean_over([reading.metric(f"{when}_cosine") for reading in each]).mean,
                "seeds": len(each),
            }
            for samples, each in trained.items()
            for when, steps in _WHEN
        ],
    )


def _by_batch(runs: Sequence[Record]) -> dict[float, list[Record]]:
    groups: dict[float, list[Record]] = defaultdict(list)
    for run in runs:
        groups[run.problem.samples].append(run)
    return groups


def _gain(readings: Sequence[Record]) -> Interval:
    """What later steps add to lock; the mean of a seed's batches, over seeds."""
    gains: dict[int, list[float]] = defaultdict(list)
    for reading in readings:
        gains[reading.seed].append(reading.metric("late_lock") - reading.metric("early_lock"))
    return mean_over([sum(each) / len(each) for each in gains.values()])


def _mended_by_batch(missed: Sequence[Record]) -> str:
    """How many of those that had not locked did so later, batch by batch."""
    return ", ".join(
        f"{sum(each.metric('late_lock') >= _LOCKED for each in group)} of {len(group)} at "
        f"N = {samples:,.0f}"
        for samples, group in _by_batch(missed).items()
    )


def _cosine(records: Sequence[Record]) -> Interval:
    cosines = [record.trigger_cosine for record in records if record.status is Status.OK]
    mean, low, high = mean_over([cosine for cosine in cosines if cosine is not None])
    return Interval(mean, max(low, -1.0), min(high, 1.0))


def _has_locked(record: Record) -> bool:
    return record.status is Status.OK and record.accuracy("lock_accuracy")[0] >= _LOCKED


def _lock(records: Sequence[Record]) -> Interval:
    return _share("lock_accuracy", records)


def _recall(records: Sequence[Record]) -> Interval:
    return _share("recall_accuracy", records)


def _share(name: str, records: Sequence[Record]) -> Interval:
    tested = [record for record in records if record.status is Status.OK]
    if not tested:
        return UNKNOWN
    shares, tests = zip(*(record.accuracy(name) for record in tested), strict=True)
    return mean_interval(shares, tests, LEVEL)


def _found_the_mark(readings: Sequence[Record], when: str) -> Interval:
    shares = [reading.metric(f"{when}_lock") for reading in readings]
    return mean_interval(shares, [LOCK_TESTS] * len(shares), LEVEL)


def _series(label: str, found: dict[float, Interval]) -> Series:
    return measured_series(label, list(found), list(found.values()))


CLAIM = Claim(
    name="first-steps",
    title="Do the first steps decide whether attention locks?",
    statement="Attention learns the direction of the trigger, and whether it locks onto the mark "
    "is decided by the first steps of training.",
    support="With a large batch the attention vector has a cosine above 0.9 with the trigger, "
    "with a small one below 0.5, and recall is below 0.1 where it has not locked; and where the "
    f"first {EARLY_STEPS} steps of ordinary training have not locked, {LATE_STEPS} of them gain "
    f"less than {_GAIN:g} on average.",
    contradict="A cosine or recall on the wrong side, or later steps that lock attention after "
    f"all: a gain above {_GAIN:g}.",
    background="The paper's training is three large steps. The attention vector is what the second "
    "step adds: it should point along the trigger, which marks the position to attend to. A "
    "reviewer asked the authors about this direction. We also look at what happens when training "
    "goes on in the ordinary way, in small steps on the same batch; how small, and that the first "
    "two are the first steps, is our choice. A few such runs had been looked at before the "
    "prediction on them was written.",
    sweeps=("locking", "training-on"),
    analyse=analyse,
    plain="whether a model finds the word that matters is settled at the very start of training, "
    "and small steps afterwards do not change it.",
    caveat="This is about small, unsaturated steps: the first gradient steps in their limit, and "
    f"{LATE_STEPS} small ones on the same batch. It is not about training to convergence.",
)
