"""The power law of a critical size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

from recallscope.api.how_to_run import AxisLike, HowToRun, axis_from, runner, takes_how_to_run
from recallscope.measurement.axis import check_varied
from recallscope.measurement.critical import CriticalSearch
from recallscope.measurement.scaling import Scaling, one_at_a_time, scaling_of
from recallscope.problem import Problem
from recallscope.record import accuracy_name


@takes_how_to_run
def fit(
    problem: Problem,
    quantity: str,
    vary: Sequence[AxisLike],
    target: float = 0.5,
    accuracy: str = "recall",
    *,
    expect: Mapping[str, float] | None = None,
    low: int | None = None,
    high: int | None = None,
    precision: float = 0.1,
    budget: int = 64,
    seed: int = 0,
    prior: float | str | None = "theory",
    **how: Unpack[HowToRun],
) -> Scaling:
    """Vary sizes one at a time about a problem, and fit a power law to their critical sizes.

    No two searches share a seed. `expect` has exponents to be tested against what is measured, all
    at once; the other arguments are those of `critical`.

    >>> problem = Problem(vocab=64, samples=1, dim=48, length=4)
    >>> found = fit(problem, "samples", ["dim=32,64"], budget=8)
    >>> [row["dim"] for row in found.rows()]
    [32, 64]
    """
    axes = [axis_from(each) for each in vary]
    check_varied(axes, quantity)
    runs = runner(how)
    searches = [
        CriticalSearch(
            each,
            quantity,
            target,
            accuracy_name(accuracy),
            low=low,
            high=high,
            precision=precision,
            budget=budget,
            first_seed=seed + number * budget,
            prior=prior,
            own=runs.own,
        )
        for number, each in enumerate(one_at_a_time(problem, axes, quantity))
    ]
    runs.search(searches, "searches")
    return scaling_of([search.result() for search in searches]).expecting(expect or {})
