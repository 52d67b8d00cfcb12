"""The power law of a critical size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recallscope.api.experiment import settings_for, store_at
from recallscope.cell import Settings
from recallscope.executors.base import Executor
from recallscope.measurement.axis import Axis, check_varied
from recallscope.measurement.critical import CriticalSearch
from recallscope.measurement.scaling import Scaling, one_at_a_time, scaling_of
from recallscope.problem import Problem
from recallscope.sweeps.jobs import cell_workers
from recallscope.sweeps.scheduler import ProgressCallback, run_searches

if TYPE_CHECKING:
    from recallscope.store.store import Store


def fit(
    problem: Problem,
    quantity: str,
    axes: Sequence[Axis],
    target: float = 0.5,
    accuracy: str = "recall_accuracy",
    *,
    low: int | None = None,
    high: int | None = None,
    precision: float = 0.1,
    budget: int = 64,
    first_seed: int = 0,
    prior: float | str | None = "theory",
    settings: Settings | None = None,
    run: Callable[[Problem, int], Any] | None = None,
    name: str | None = None,
    version: int = 1,
    executor: str | Executor = "serial",
    workers: int | None = None,
    address: str | None = None,
    store: str | Path | Store | None = None,
    progress: ProgressCallback = lambda done, total: None,
) -> Scaling:
    """Vary sizes one at a time about a problem, and fit the critical sizes of all.

    No two searches share a seed. See `CriticalSearch` and `sweep` for the arguments.

    >>> problem = Problem(vocab=64, samples=1, dim=48, length=4)
    >>> found = fit(problem, "samples", [Axis("dim", (32, 64))], budget=8)
    >>> [row["dim"] for row in found.rows]
    [32, 64]
    """
    check_varied(axes, quantity)
    how = settings_for(settings, run, name, version)
    searches = [
        CriticalSearch(
            each,
            quantity,
            target,
            accuracy,
            low=low,
            high=high,
            precision=precision,
            budget=budget,
            first_seed=first_seed + number * budget,
            prior=prior,
            own=None if how.own is None else how.own.name,
        )
        for number, each in enumerate(one_at_a_time(problem, axes, quantity))
    ]
    with cell_workers(executor, workers, address) as pool:
        run_searches(searches, pool, how, progress, store=store_at(store))
    return scaling_of([search.result() for search in searches])
