"""The size at which an accuracy crosses a target."""

from __future__ import annotations

from typing import Any, Unpack

from recallscope.api.run_options import RunOptions, runner, with_run_options
from recallscope.measurement.critical import CriticalSearch
from recallscope.measurement.critical_size import CriticalSize
from recallscope.problem import Problem
from recallscope.record import accuracy_name


@with_run_options
def critical(
    problem: Problem,
    quantity: str = "samples",
    target: float = 0.5,
    accuracy: str = "recall",
    *,
    low: float | None = None,
    high: float | None = None,
    precision: float = 0.1,
    budget: int = 64,
    seed: int = 0,
    prior: float | str | None = "theory",
    seeds_passing: float | None = None,
    **how: Unpack[RunOptions],
) -> CriticalSize:
    """Search for the critical size, from first run to last.

    Args:
        problem: everything but the size sought; the value of that size is ignored.
        quantity: samples, dim, width, vocab or length, or a field with which recall rises or falls.
        target: the accuracy to cross.
        accuracy: recall, lock, one-step, or a metric.
        low: the smallest size to try; by default far below where the target could be reached.
        high: the largest.
        precision: the sufficient width of the interval, relative to the size.
        budget: the most runs.
        seed: of the first run; each run has its own.
        prior: the first size to try; "theory" for the prediction of closed forms, or None.
        seeds_passing: instead of the mean, the fraction of seeds that must reach the target.
        how: how and where to run, as in `HowToRun`.

    Returns:
        The size with its interval, or a status with the reason. It is `not_reached` if the target
        is not crossed between low and high.

    Raises:
        ProblemError: an invalid size, accuracy or target.

    >>> problem = Problem(vocab=64, samples=1, dim=48, length=4)
    >>> found = critical(problem, "samples", 0.5, budget=24)
    >>> found.low < found.value < found.high
    True

    With `run`, the search uses your function. It maps a problem and a seed to an accuracy and the
    number of its tests:

    >>> def half_by_1000(problem, seed):
    ...     return problem.samples / (problem.samples + 1000), 4096
    >>> found = critical(problem, "samples", 0.5, run=half_by_1000)
    >>> found.low < 1000 < found.high
    True
    """
    runs, sought = runner(how), (quantity, target, accuracy_name(accuracy))
    within: dict[str, Any] = {"low": low, "high": high, "precision": precision, "budget": budget}
    within |= {"first_seed": seed, "prior": prior, "seeds_passing": seeds_passing}
    search = CriticalSearch(problem, *sought, **within, own=runs.own)
    runs.search([search], "search")
    return search.result()
