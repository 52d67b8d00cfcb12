"""The first steps decide whether attention locks, and attention learns the trigger's direction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from recallscope.common.grouping import grouped_by
from recallscope.paper.claim import Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.findings import finding_of
from recallscope.paper.intervals import UNKNOWN, drawn_again, mean_over, shown
from recallscope.paper.series import measured_series
from recallscope.paper.verdict import LEVEL
from recallscope.record import Record, Status
from recallscope.results.panels import Kind, Series
from recallscope.statistics.intervals import Interval, mean_interval

_LOCKED = 0.5


class EarlyAndLate(NamedTuple):
    """Attention after the first two steps, and when training was done."""

    seed: int
    samples: float
    early_lock: float
    early_cosine: float
    late_lock: float


def analyse(evidence: Evidence) -> Finding:
    runs = grouped_by(evidence.runs("locking"), attrgetter("problem.samples"))
    trained = _by_saturation(evidence.runs("saturating"))
    smallest = runs[min(runs)]
    gains = {s: _gain(each) for s, each in trained.items()}
    areas = {s: _area_under_curve(each) for s, each in trained.items()}
    small, large = min(trained), max(trained)
    return finding_of(
        "first-steps",
        small=small,
        large=large,
        gained=", ".join(f"{shown(gains[s])} at s = {s:g}" for s in sorted(gains)),
        gained_small=gains[small],
        gained_large=gains[large],
        area_small=areas[small],
        area_large=areas[large],
        cosines=[_cosine(smallest), _cosine(runs[max(runs)])],
        recall=_recall([each for each in smallest if not _has_locked(each)]),
        series=[
            [
                measured_series(label, [(n, of(each)) for n, each in runs.items()])
                for label, of in (
                    ("attends to the trigger", _lock),
                    ("cosine with the trigger", _cosine),
                    ("recall", _recall),
                )
            ],
            [measured_series("gained later", gains.items())],
            [
                measured_series("early cosine", areas.items()),
                Series("chance", Kind.REFERENCE, list(areas), [0.5] * len(areas)),
            ],
        ],
        rows=[
            {
                "samples": samples,
                "lock": _lock(each).mean,
                "cosine": _cosine(each).mean,
                "recall": _recall(each).mean,
                "seeds": len(each),
            }
            for samples, each in runs.items()
        ]
        + [
            {
                "saturation": s,
                "early lock": mean_over([run.early_lock for run in each]).mean,
                "late lock": mean_over([run.late_lock for run in each]).mean,
                "gain": gains[s].mean,
                "area under the curve": areas[s].mean,
                "trainings": len(each),
            }
            for s, each in trained.items()
        ],
    )


def _by_saturation(records: Sequence[Record]) -> dict[float, list[EarlyAndLate]]:
    groups = grouped_by(records, lambda record: record.problem["saturation"])
    return {
        size: [_early_and_late(each) for each in groups[size] if each.status is Status.OK]
        for size in sorted(groups)
    }


def _early_and_late(record: Record) -> EarlyAndLate:
    curves = (record.metrics[f"curve_{name}"] for name in ("lock", "cosine"))
    lock, cosine = (float(next(iter(curve))) for curve in curves)  # type: ignore[arg-type]
    late = record.accuracy("lock_accuracy")[0]
    return EarlyAndLate(record.seed, record.problem.samples, lock, cosine, late)


def _gain(trained: Sequence[EarlyAndLate]) -> Interval:
    """What later steps add to lock; the mean of a seed's batches, over seeds."""
    by_seed = grouped_by(trained, attrgetter("seed")).values()
    gains = ([run.late_lock - run.early_lock for run in runs] for runs in by_seed)
    return mean_over([sum(each) / len(each) for each in gains])


def _area_under_curve(trained: Sequence[EarlyAndLate]) -> Interval:
    """How often, of two seeds of one batch size, the one that locks had the higher cosine."""
    seeds, seed = np.unique([run.seed for run in trained], return_inverse=True)
    samples, cosine, lock = (
        np.array([getattr(run, name) for run in trained])
        for name in ("samples", "early_cosine", "late_lock")
    )
    compared = (samples[:, None] == samples) & (lock[:, None] > _LOCKED) & (lock <= _LOCKED)
    above = cosine[:, None] - cosine
    # Of each two seeds, how many pairs of their runs are compared, and in how many it is so.
    pairs, right = np.zeros((2, len(seeds), len(seeds)))
    np.add.at(pairs, (seed[:, None], seed), compared)
    np.add.at(right, (seed[:, None], seed), compared * ((above > 0) + 0.5 * (above == 0)))

    def area(drawn: Sequence[int]) -> float:
        times = np.bincount(drawn, minlength=len(seeds))
        whole = times @ pairs @ times
        return float(times @ right @ times / whole) if whole else math.nan

    return drawn_again(area, range(len(seeds)))


def _cosine(records: Sequence[Record]) -> Interval:
    cosines = [record.trigger_cosine for record in records if record.status is Status.OK]
    mean, low, high = mean_over([cosine for cosine in cosines if cosine is not None])
    return Interval(mean, max(low, -1.0), min(high, 1.0))


def _has_locked(record: Record) -> bool:
    return record.status is Status.OK and record.accuracy("lock_accuracy")[0] >= _LOCKED


def _share(name: str, records: Sequence[Record]) -> Interval:
    tested = [record for record in records if record.status is Status.OK]
    if not tested:
        return UNKNOWN
    shares, tests = zip(*(record.accuracy(name) for record in tested), strict=True)
    return mean_interval(shares, tests, LEVEL)


_lock, _recall = partial(_share, "lock_accuracy"), partial(_share, "recall_accuracy")
