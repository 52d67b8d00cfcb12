"""The size at which an accuracy crosses a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    executor: str | Executor = "serial",
    workers: int | None = None,
    address: str | None = None,
    store: Store | None = None,
    progress: ProgressCallback = lambda done, total: None,
) -> CriticalSize:
    """Search for it, from first run to last; see `CriticalSearch` and `sweep` for the arguments.

    >>> problem = Problem(vocab=64, samples=1, dim=48, length=4)
    >>> found = critical(problem, "samples", 0.5, budget=24)
    >>> found.low < found.value < found.high
    True
    """
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
    )
    with cell_workers(executor, workers, address) as pool:
        run_searches([search], pool, settings or Settings(), progress, store=store)
    return search.result()
