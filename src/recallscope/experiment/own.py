"""A custom experiment: any function from a problem and a seed to its results."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

from recallscope.common.checks import whole_number
from recallscope.common.errors import ProblemError
from recallscope.common.source import source_of
from recallscope.common.status import Status
from recallscope.experiment.cell import OwnExperiment
from recallscope.experiment.experiment import made_by
from recallscope.experiment.record import Record, check_new_metrics
from recallscope.problem.metrics import ACCURACIES, check_share, metric_value
from recallscope.problem.problem import Problem

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,59}")


def own_experiment(
    run: Callable[[Problem, int], Any], name: str | None = None, version: int | None = None
) -> OwnExperiment:
    """A function as an experiment: with its name, and a hash of its source or its version.

    >>> def coin(problem, seed):
    ...     return 0.5, 1000
    >>> own = own_experiment(coin)
    >>> own.name, len(own.source.mark), own_experiment(coin, version=2).measure
    ('coin', 16, 'coin v2')
    """
    if not callable(run):
        raise ProblemError(f"run must be a function of a problem and a seed, not {run!r:.60}")
    called = _called(run) if name is None else name
    if not isinstance(called, str) or not _NAME.fullmatch(called):
        raise ProblemError(
            "an experiment needs a name of a letter and then letters, digits, '_', '-' or '.', "
            f"not {called!r:.60}; give name="
        )
    if version is None:
        version = getattr(run, "version", None)  # of an object that has one, as parts may
    if version is not None:
        version = whole_number("version", version, 1, 10**6 - 1)
    return OwnExperiment(name=called, source=source_of(run, version), function=run)


def _called(run: Any) -> str:
    """Return the name of a function, of the function of a partial, or of the class of an object."""
    while isinstance(run, functools.partial):
        run = run.func
    return getattr(run, "__name__", type(run).__name__).strip("<>")


def own_record(own: OwnExperiment, problem: Problem, seed: int) -> Record:
    """The record of one run: what the function returned, or that it broke off.

    >>> def coin(problem, seed):
    ...     return 0.5, 1000
    >>> problem = Problem(vocab=64, samples=512, dim=16, length=4)
    >>> record = own_record(own_experiment(coin), problem, seed=0)
    >>> record.recall_accuracy, record.test_samples
    (0.5, 1000)
    """
    started = time.perf_counter()
    numbers: dict[str, Any] = {}
    status, reason = Status.OK, None
    try:
        returned = own.function(problem, seed)
    except (Exception, SystemExit) as error:  # a crash has its own status and is no data point
        status, reason = Status.FAILED, f"{type(error).__name__}: {error}"
    else:
        numbers = _numbers(own.name, returned)
        check_new_metrics(problem, numbers["metrics"])
    took = time.perf_counter() - started
    return _record(own, problem, seed, took, status=status, reason=reason, **numbers)


def lost_record(own: OwnExperiment, problem: Problem, seed: int, reason: str) -> Record:
    """The record of a run that something outside of it ended."""
    return _record(own, problem, seed, 0.0, status=Status.FAILED, reason=reason)


def _record(
    own: OwnExperiment, problem: Problem, seed: int, elapsed_seconds: float, **fields: Any
) -> Record:
    made = made_by(problem, None, "own", "own", elapsed_seconds)
    made = replace(made, files=made.files | own.files)
    return Record(problem=problem, seed=seed, measure=own.measure, provenance=made, **fields)


def _numbers(name: str, returned: Any) -> dict[str, Any]:
    """Return the result of a function as fields of a record."""
    if isinstance(returned, tuple) and len(returned) == 2 and not isinstance(returned[0], Mapping):
        accuracy, tests = returned
        returned = {"recall_accuracy": accuracy, "tests": tests}
    if not isinstance(returned, Mapping) or not returned:
        raise ProblemError(
            f"{name} must return an accuracy and the number of its tests, as in (0.5, 1000), or "
            f"named metrics, as in {{'recall_accuracy': 0.5, 'tests': 1000, 'loss': 1.2}}, "
            f"not {returned!r:.60}"
        )
    metrics = {metric: _plain(value) for metric, value in returned.items()}
    if "accuracy" in metrics and "recall_accuracy" not in metrics:
        metrics["recall_accuracy"] = metrics.pop("accuracy")
    for metric, value in metrics.items():
        if isinstance(value, bool):
            raise ProblemError(
                f"{metric!s:.60} of {name} must be a number, not {value}; give the fraction of "
                "tests or their number, and 1.0 or 0.0 for true or false"
            )
    tests = metrics.pop("tests", None)
    accuracies = {called: metrics.pop(called) for called in ACCURACIES if called in metrics}
    for measured, value in accuracies.items():
        if not isinstance(value, Real) or not 0 <= float(value) <= 1:
            raise ProblemError(
                f"{measured} of {name} must be a number from 0 to 1, not {value!r:.60}"
            )
    if accuracies and tests is None:
        raise ProblemError(
            f"{name} gave {next(iter(accuracies))} without the number of tests that it was "
            "measured on; return 'tests' too"
        )
    if tests is not None:
        tests = whole_number("tests", tests, 1)
        for measured, value in accuracies.items():
            check_share(f"{measured} of {name}", value, tests)
    return {
        "metrics": {metric: metric_value(metric, value) for metric, value in metrics.items()},
        "test_samples": tests,
        **accuracies,
    }


def _plain(value: Any) -> Any:
    """A number as one of Python's, of tensors and arrays too."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return float(value) if isinstance(value, Real) and not isinstance(value, int) else value
