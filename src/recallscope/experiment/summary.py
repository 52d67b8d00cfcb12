"""The mean of each accuracy over the seeds of one problem, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from recallscope.common.status import Status
from recallscope.experiment.record import Record
from recallscope.problem.metrics import ACCURACIES
from recallscope.statistics.intervals import Interval, mean_interval


def summarise(records: Sequence[Record], confidence: float = 0.95) -> dict[str, Interval]:
    """Each accuracy over the records that are ok: its mean and a confidence interval.

    Args:
        records: of one problem at several seeds; those that are not ok are left out.
        confidence: the probability that the interval is to have.

    Returns:
        An interval by the name of each accuracy; none if no record is ok.

    Raises:
        ValueError: a confidence that is not between 0 and 1.

    >>> from recallscope import Problem, run
    >>> problem = Problem(vocab=64, samples=512, dim=64, length=4)
    >>> summary = summarise([run(problem, seed) for seed in range(4)])
    >>> summary["recall_accuracy"].low < summary["recall_accuracy"].mean
    True
    """
    means = {}
    for name in ACCURACIES:
        accuracies = [
            record.accuracy(name)
            for record in records
            if record.status is Status.OK and getattr(record, name) is not None
        ]
        if accuracies:
            rates, sizes = zip(*accuracies, strict=True)
            means[name] = mean_interval(rates, sizes, confidence)
    return means
