"""The size at which an accuracy crosses a target."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recallscope.api.experiment import settings_for, store_at
from recallscope.cell import Settings
from recallscope.executors.base import Executor
from recallscope.measurement.critical import CriticalSearch, CriticalSize
from recallscope.problem import Problem
from recallscope.sweeps.jobs import cell_workers
from recallscope.sweeps.scheduler import ProgressCallback, run_searches

if TYPE_CHECKING:
    from recallscope.store.store import Store


def critical(
    problem: Problem,
    quantity: str = "samples",
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
) -> CriticalSize:
    """Search for it, from first run to last; see `CriticalSearch` and `sweep` for the arguments.

    With `run`, a function of your own from a problem and a seed to an accuracy and the number of
    its tests, that is searched instead:

    >>> def half_by_1000(problem, seed):
    ...     return problem.samples / (problem.samples + 1000), 4096
    >>> problem = Problem(vocab=64, samples=1, dim=48, length=4)
    >>> found = critical(problem, "samples", 0.5, run=half_by_1000)
    >>> found.low < 1000 < found.high
    True

    >>> problem = Problem(vocab=64, samples=1, dim=48, length=4)
    >>> found = critical(problem, "samples", 0.5, budget=24)
    >>> found.low < found.value < found.high
    True
    """
    how = settings_for(settings, run, name, version)
    search = CriticalSearch(
        problem,
        quantity,
        target,
        accuracy,
        low=low,
        high=high,
        precision=precision,
        budget=budget,
        first_seed=first_seed,
        prior=prior,
        own=None if how.own is None else how.own.name,
    )
    with cell_workers(executor, workers, address) as pool:
        run_searches([search], pool, how, progress, store=store_at(store))
    return search.result()
