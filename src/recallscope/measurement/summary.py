"""The mean of each accuracy over the seeds of one problem, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from recallscope.record import ACCURACIES, Record, Status
from recallscope.statistics.intervals import Interval, mean_interval


def summarise(records: Sequence[Record], confidence: float = 0.95) -> dict[str, Interval]:
    """Each accuracy over the records that are ok: its mean and a confidence interval.

    >>> from recallscope import Problem, run
    >>> problem = Problem(vocab=64, samples=512, dim=64, length=4)
    >>> summary = summarise([run(problem, seed) for seed in range(4)])
    >>> summary["recall_accuracy"].low < summary["recall_accuracy"].mean
    True
    """
    tested = [record for record in records if record.status is Status.OK]
    if not tested:
        return {}
    sizes = [record.test_samples or 0 for record in tested]
    return {
        name: mean_interval([getattr(record, name) for record in tested], sizes, confidence)
        for name in ACCURACIES
    }
