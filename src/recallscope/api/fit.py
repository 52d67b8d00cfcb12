"""The power law of a critical size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from recallscope.api.run_options import AxisLike, RunOptions, axis_from, runner, with_run_options
from recallscope.measurement.axis import check_varied
from recallscope.measurement.critical import CriticalSearch
from recallscope.measurement.scaling import Scaling, one_at_a_time, scaling_of
from recallscope.problem import Problem
from recallscope.record import accuracy_name


@with_run_options
def fit(
    problem: Problem,
    quantity: str,
    vary: Sequence[AxisLike],
    target: float = 0.5,
    accuracy: str = "recall",
    *,
    expect: Mapping[str, float] | None = None,
    low: float | None = None,
    high: float | None = None,
    precision: float = 0.1,
    budget: int = 64,
    seed: int = 0,
    prior: float | str | None = "theory",
    **how: Unpack[RunOptions],
) -> Scaling:
    """Vary sizes one at a time about a problem, and fit a power law to their critical sizes.

    No two searches share a seed.

    Args:
        problem: the middle, from which one size at a time is varied.
        quantity: the size, or field with which recall rises or falls, that is sought.
        vary: sizes and their values: 'dim=32:128:4', or ('dim', [32, 64, 128]).
        target: the accuracy to cross.
        accuracy: recall, lock, one-step, or a metric.
        expect: your exponents by size, tested jointly against the measured ones.
        low: the smallest size to try; by default far below where the target could be reached.
        high: the largest.
        precision: the sufficient width of the interval, relative to the size.
        budget: the most runs of each search.
        seed: of the first run; each run has its own.
        prior: the first size to try; "theory" for the prediction of closed forms, or None.
        how: how and where to run, as in `HowToRun`.

    Returns:
        The exponents with their intervals, the p-value of the fit, and every critical size.

    Raises:
        ProblemError: axes that cannot be varied, or an invalid size, accuracy or target.

    >>> problem = Problem(vocab=64, samples=1, dim=48, length=4)
    >>> found = fit(problem, "samples", ["dim=32,64"], budget=8)
    >>> [row["dim"] for row in found.rows()]
    [32, 64]
    """
    axes = [axis_from(each, problem) for each in vary]
    check_varied(axes, quantity)
    runs, sought = runner(how), (quantity, target, accuracy_name(accuracy))
    within: dict[str, Any] = {"low": low, "high": high, "precision": precision, "prior": prior}
    within |= {"budget": budget, "own": runs.own}
    searches = [
        CriticalSearch(each, *sought, **within, first_seed=seed + number * budget)
        for number, each in enumerate(one_at_a_time(problem, axes, quantity))
    ]
    runs.search(searches, "searches")
    return scaling_of([search.result() for search in searches]).expecting(expect or {})
