"""Accuracy over a plane of two sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recallscope.api.experiment import settings_for, store_at
from recallscope.cell import Settings
from recallscope.executors.base import Executor
from recallscope.measurement.axis import Axis
from recallscope.measurement.phase import PhaseDiagram, phase_diagram, plan
from recallscope.problem import Problem, ProblemError
from recallscope.record import check_accuracy, check_target, metric_names
from recallscope.sweeps.jobs import cell_workers
from recallscope.sweeps.scheduler import ProgressCallback, run_all
from recallscope.theory.capacity import SIZES

if TYPE_CHECKING:
    from recallscope.store.store import Store


def phase(
    problem: Problem,
    x: Axis,
    y: Axis,
    seeds: int = 4,
    target: float = 0.5,
    accuracy: str = "recall_accuracy",
    *,
    first_seed: int = 0,
    settings: Settings | None = None,
    run: Callable[[Problem, int], Any] | None = None,
    name: str | None = None,
    version: int = 1,
    executor: str | Executor = "serial",
    workers: int | None = None,
    address: str | None = None,
    store: str | Path | Store | None = None,
    progress: ProgressCallback = lambda done, total: None,
) -> PhaseDiagram:
    """Run every cell of the plane with seeds of its own; see `sweep` for where and how.

    >>> problem = Problem(vocab=64, samples=1, dim=1, length=4)
    >>> found = phase(problem, Axis("dim", (16, 64)), Axis("samples", (32, 2048)), seeds=2)
    >>> len(found.cells)
    4
    """
    how = settings_for(settings, run, name, version)
    check_accuracy(accuracy, None if how.own else metric_names(problem))
    check_target(target)
    runs = plan(problem, x, y, seeds, first_seed)
    with cell_workers(executor, workers, address) as pool:
        records = run_all(runs, pool, how, progress, store=store_at(store))
    return phase_diagram(records, x.name, y.name, accuracy, target)


def phase_of_store(
    store: Store,
    x: str,
    y: str,
    given: Mapping[str, Any],
    target: float = 0.5,
    accuracy: str = "recall_accuracy",
) -> PhaseDiagram:
    """The plane of two sizes in the records of a store, of those that have the fields given."""
    if x not in SIZES or y not in SIZES:
        raise ProblemError(
            "a store has values of its own: give --x and --y as names, as in --x dim --y samples"
        )
    records = [
        record
        for record in store.records()
        if record.measure is None
        and all(getattr(record.problem, name, None) == value for name, value in given.items())
    ]
    if not records:
        which = ", ".join(f"{name} {value!r}" for name, value in given.items())
        raise ProblemError(
            f"the store {store.place!r} has no runs{which and ' with '}{which}; "
            f"recallscope records --store {store.place} list shows what it has"
        )
    if len({(record.problem, record.seed) for record in records}) < len(records):
        raise ProblemError(
            f"the store {store.place!r} has the same problem and seed more than once, run in other "
            "ways; each may count once only: draw from a store of one sweep"
        )
    return phase_diagram(records, x, y, accuracy, target)
