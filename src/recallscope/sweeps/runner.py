"""How and where runs are run, and where progress goes: shared by all measuring functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recallscope.common.checks import whole_number
from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.experiment.cell import Settings
from recallscope.experiment.own import own_experiment
from recallscope.experiment.record import Record
from recallscope.problem.given_embeddings import Embeddings
from recallscope.problem.problem import Problem
from recallscope.sweeps.executors.workers import ExecutorLike
from recallscope.sweeps.jobs import cell_workers
from recallscope.sweeps.many_runs import run_all

if TYPE_CHECKING:
    from recallscope.sweeps.store.store import Store


@dataclass(frozen=True, kw_only=True)
class Runner:
    """Runs problems and searches with the arguments that all measuring functions take."""

    settings: Settings
    executor: ExecutorLike
    workers: int | None
    address: str | None
    store: str | Path | Store | None
    progress: ProgressCallback | bool
    callback: Callable[[Record], None] | None

    def records(self, runs: Sequence[tuple[Problem, int]], what: str) -> list[Record]:
        """Return the records of problems at seeds, in their order."""
        with self.working(what) as (place, keep):
            return run_all(runs, *place, **keep)

    @contextmanager
    def working(self, what: str) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
        """Workers, settings and progress; and where records go."""
        with (
            shown_progress(self.progress, what) as progress,
            cell_workers(self.executor, self.workers, self.address) as pool,
        ):
            kept = None if self.store is None else store_at(self.store)
            yield (pool, self.settings, progress), {"store": kept, "callback": self.callback}

    @property
    def own(self) -> str | None:
        """The name of the user's experiment, if there is one."""
        return None if self.settings.own is None else self.settings.own.name


def runner(
    *,
    run: Callable[[Problem, int], Any] | None,
    name: str | None,
    version: int | None,
    engine: str,
    test_samples: int,
    dtype: str,
    device: str,
    embeddings: Embeddings | None,
    executor: ExecutorLike,
    workers: int | None,
    address: str | None,
    store: str | Path | Store | None,
    progress: ProgressCallback | bool,
    callback: Callable[[Record], None] | None,
) -> Runner:
    """Return a runner with the arguments of a measuring function, after their checks."""
    settings = Settings(
        engine=engine,
        dtype=dtype,
        device=device,
        embeddings=embeddings,
        test_samples=whole_number("test_samples", test_samples, 1),
        own=None if run is None else own_experiment(run, name, version),
    )
    return Runner(
        settings=settings,
        executor=executor,
        workers=workers,
        address=address,
        store=store,
        progress=progress,
        callback=callback,
    )


def store_at(place: str | Path | Store) -> Store:
    """The store at a place."""
    from recallscope.sweeps.store.store import Store

    return place if isinstance(place, Store) else Store(place)
