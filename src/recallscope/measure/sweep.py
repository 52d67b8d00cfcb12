"""Many experiments: every cell that the store has no record of is run, and its record kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from recallscope.common.checks import whole_number
from recallscope.common.errors import ProblemError
from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.experiment.cell import Settings
from recallscope.experiment.own import own_experiment
from recallscope.experiment.record import Record
from recallscope.measure.critical_size import CriticalSize
from recallscope.measure.searches import run_searches
from recallscope.measure.sweep_file import Sweep, read_sweep
from recallscope.problem.problem import Problem
from recallscope.sweeps.executors.limits import Limits
from recallscope.sweeps.executors.workers import ExecutorLike
from recallscope.sweeps.jobs import cell_workers
from recallscope.sweeps.run_sweep import run_sweep
from recallscope.sweeps.runner import store_at
from recallscope.sweeps.store.store import Store
from recallscope.sweeps.sweep_result import SweepResult


@dataclass(frozen=True, kw_only=True, repr=False)
class SearchesResult(SweepResult):
    """The result of a sweep of searches: what each of them found."""

    searches: list[CriticalSize] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON: what was counted, and what searches found."""
        return super().to_dict() | {"searches": [search.to_dict() for search in self.searches]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SearchesResult:
        """The inverse of `to_dict`; the records stay in their store."""
        searches = [CriticalSize.from_dict(each) for each in data["searches"]]
        return cls(**{**data, "searches": searches})

    def rows(self) -> list[dict[str, Any]]:
        """A row for each search."""
        return [search.row() for search in self.searches]


def sweep(
    cells: str | Path | Sweep | Iterable[tuple[Problem, int]],
    store: str | Path | Store,
    *,
    executor: ExecutorLike = "serial",
    workers: int | None = None,
    address: str | None = None,
    engine: str = "auto",
    dtype: str = "float32",
    test_samples: int = 4096,
    device: str = "cpu",
    shards: int | None = None,
    part: tuple[int, int] | None = None,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    fail_fast: bool = False,
    run: Callable[[Problem, int], Any] | None = None,
    name: str | None = None,
    version: int | None = None,
    progress: ProgressCallback | bool = True,
    callback: Callable[[Record], None] | None = None,
) -> SweepResult:
    """Run the cells that a store has no record of, and keep their records there.

    After an interruption at any moment, call it again to resume.

    Args:
        cells: problems and seeds, in a list or from a generator; the same cell twice counts once.
            Or a sweep file, as a path or as read. Its engine, dtype, test_samples, device and
            limits then replace those given here.
        store: a folder, or an address of an object store such as s3://bucket/folder.
        executor: 'serial', 'processes', 'ray', a `concurrent.futures.Executor`, or a function
            that makes one.
        workers: how many workers; as many as there are cores if None.
        address: of a Ray cluster; None starts a private one on this machine.
        engine: 'stream', 'counts', 'reference', or 'auto' for the one that costs less.
        dtype: 'float32', or 'float64'.
        test_samples: fresh samples to test on.
        device: where torch computes.
        shards: over how many workers to cut each single cell, for large cells.
        part: (3, 8) for the third of eight jobs, which divide the cells without communication.
        time_limit: seconds that a cell may take; a longer one is stopped and counts as failed.
        memory_limit: bytes that a cell may add to its worker's memory.
        fail_fast: stop at the first cell that fails.
        run: your experiment, a function from a problem and a seed to an accuracy and the number of
            its tests, or to named metrics. Your function then decides on engine, dtype and tests.
        name: what to call it in the store; by default the name of the function.
        version: yours, to be raised when the function changes; by default its source is hashed, and
            an edit of it is refused.
        progress: True for a bar in a terminal or a notebook, False for none, or a function that is
            called with (work done, work in all).
        callback: called with each record that is made, for trackers.

    Returns:
        The numbers of cells and of runs, their statuses, and the place of the records.

    Raises:
        ProblemError: an invalid sweep file or setting, or a folder that is not a store.

    >>> import tempfile
    >>> problem = Problem(vocab=64, samples=512, dim=32, length=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sweep([(problem, 0), (problem, 1), (problem, 0)], folder).by_status
    {'ok': 2}
    """
    place = store_at(store)
    where: dict[str, Any] = {"executor": executor, "workers": workers, "address": address}
    if isinstance(cells, (str, Path)):
        cells = read_sweep(cells)
    if isinstance(cells, Sweep):
        settings, limits = cells.settings, cells.limits
        if cells.critical is not None:
            if shards is not None or run is not None or fail_fast:
                raise ProblemError("a sweep of searches takes no shards, run or fail_fast")
            return _search(cells, place, where, part, progress, callback)
        cells = cells.cells()
    else:
        settings = Settings(
            engine=engine,
            dtype=dtype,
            test_samples=whole_number("test_samples", test_samples, 1),
            device=device,
        )
        limits = Limits(seconds=time_limit, memory=memory_limit)
    if run is not None:
        settings = replace(settings, own=own_experiment(run, name, version))
    with shown_progress(progress, "sweep") as update:
        return run_sweep(
            cells,
            place,
            settings,
            limits,
            **where,
            shards=shards,
            part=part,
            fail_fast=fail_fast,
            progress=lambda state: update(state.seconds_done, state.seconds),
            callback=callback,
        )


def _search(
    spec: Sweep,
    store: Store,
    where: dict[str, Any],
    part: tuple[int, int] | None,
    progress: ProgressCallback | bool,
    callback: Callable[[Record], None] | None,
) -> SearchesResult:
    """Run the searches of a sweep file to their end."""
    searches = spec.searches(part)
    records_done: list[Record] = []

    def tell(record: Record) -> None:
        records_done.append(record)
        if callback is not None:
            callback(record)

    with (
        shown_progress(progress, "searches") as update,
        cell_workers(**where, limits=spec.limits) as pool,
    ):
        run_searches(
            searches, pool, spec.settings, update, limits=spec.limits, store=store, callback=tell
        )
    critical_sizes = [search.result() for search in searches]
    cells = sum(size.evaluations for size in critical_sizes)
    failed, lost = (
        sum(size.failures for size in critical_sizes),
        sum(size.infeasible for size in critical_sizes),
    )
    counted = {"failed": failed, "infeasible": lost, "ok": cells - failed - lost}
    return SearchesResult(
        cells=cells,
        known=cells - len(records_done),
        ran=len(records_done),
        by_status={status: count for status, count in counted.items() if count},
        seconds=sum(record.provenance.elapsed_seconds for record in records_done),
        store=store.place,
        searches=critical_sizes,
    )
