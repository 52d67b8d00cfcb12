"""What is measured of an experiment, by name: accuracies, and metrics of its parts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from recallscope.common.checks import is_number
from recallscope.common.errors import ProblemError, did_you_mean
from recallscope.problem.problem import Problem

ACCURACIES = ("attention_accuracy", "recall_accuracy", "first_gradient_accuracy")


def accuracy_name(short: str) -> str:
    """The full name of an accuracy that was given in short; metrics have only one name.

    >>> accuracy_name("first-gradient"), accuracy_name("recall-at-k")
    ('first_gradient_accuracy', 'recall-at-k')
    """
    full = f"{short.replace('-', '_').removesuffix('_accuracy')}_accuracy"
    return full if full in ACCURACIES else short


def check_accuracy(name: str, metrics: Sequence[str] | None = ()) -> None:
    """Raise unless this is an accuracy of all records, or one of the metrics; None is any."""
    if metrics is None:
        check_metric(name, 0.0)
        return
    known = [*ACCURACIES, *metrics]
    if name not in known:
        short = [accuracy.removesuffix("_accuracy").replace("_", "-") for accuracy in known]
        raise ProblemError(
            f"accuracy must be one of {', '.join(known)}, "
            f"not {name!r:.60}{did_you_mean(name, short)}; what a learner of yours measures is "
            "known once it names it, as in Learner(metrics=('loss',))"
        )


def metric_names(problem: Problem) -> list[str]:
    """The metrics that records of a problem have: those that it names, and its learner's own."""
    named = [name.partition(":")[0] for name in problem.metrics]
    return [*named, *problem.part("learner").metrics]


METRIC_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_. -]{0,99}")


def check_metric(name: object, value: object) -> None:
    """Raise unless a record can have such a metric.

    >>> check_metric("recall@5", 0.5)
    Traceback (most recent call last):
    recallscope.ProblemError: a metric is named by a letter and then letters, digits, ...
    """
    if not isinstance(name, str) or not METRIC_NAME.fullmatch(name):
        raise ProblemError(
            "a metric is named by a letter and then letters, digits, spaces, '_', '-' or '.', at "
            f"most 100 of them, not {name!r:.60}"
        )
    values = [value] if isinstance(value, Real) else value
    if (
        isinstance(values, (str, bytes))
        or not isinstance(values, Sequence)
        or not all(is_number(value) for value in values)
    ):
        raise ProblemError(
            f"the metric {name} must be a number or a list of numbers, not {value!r:.60}"
        )


def metric_value(name: object, value: Any) -> float | list[float]:
    """A metric as records hold it, of tensors and arrays too.

    >>> import numpy as np
    >>> metric_value("loss", np.float32(0.5)), metric_value("curve", np.array([2, 1]))
    (0.5, [2.0, 1.0])
    """
    plain = _plain(value)
    if isinstance(plain, (list, tuple)):
        plain = [_plain(number) for number in plain]
    check_metric(name, plain)
    return float(plain) if isinstance(plain, Real) else [float(number) for number in plain]


def with_shapes(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics as flat lists; of arrays with several axes the shape is one more.

    >>> import numpy as np
    >>> with_shapes({"map": np.ones((2, 1))})
    {'map': array([1., 1.]), 'map.shape': [2, 1]}
    """
    flat = dict[str, Any]()
    for name, value in metrics.items():
        several = getattr(value, "ndim", 0) > 1
        flat |= {name: value.reshape(-1), f"{name}.shape": [*value.shape]} if several else {}
        flat.setdefault(name, value)
    return flat


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


_ROUNDED = 5e-4  # what an accuracy may lose where it is given with three digits


def check_share(name: str, share: float, tests: int) -> None:
    """Raise unless an accuracy is a whole number of tests, or was one before it was rounded.

    >>> check_share("recall", 0.3333, 10)
    Traceback (most recent call last):
    recallscope.ProblemError: recall is 0.3333, which is no whole number out of 10 ...
    """
    right = share * tests
    if abs(right - round(right)) > _ROUNDED * tests:
        raise ProblemError(
            f"{name} is {share}, which is no whole number out of {tests} tests; give the number "
            "of right ones divided by the number of tests"
        )
