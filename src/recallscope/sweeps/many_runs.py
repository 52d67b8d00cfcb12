"""Run problems at seeds, and return their records in the order of the requests.

With a store, its records are not run again, and new ones are kept there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from recallscope.common.interrupts import interrupts_obeyed
from recallscope.common.progress_bar import ProgressCallback
from recallscope.experiment.cell import Cell, Settings
from recallscope.experiment.record import Record
from recallscope.problem.problem import Problem
from recallscope.sweeps.dispatch import run_cells, share_maker
from recallscope.sweeps.executors.limits import Limits
from recallscope.sweeps.executors.workers import Workers
from recallscope.sweeps.jobs import check_problem

if TYPE_CHECKING:
    from recallscope.sweeps.store.store import Store
    from recallscope.sweeps.writer import RecordWriter

_NO_LIMITS = Limits()


def run_all(
    runs: Sequence[tuple[Problem, int]],
    workers: Workers,
    settings: Settings,
    progress: ProgressCallback,
    *,
    limits: Limits = _NO_LIMITS,
    store: Store | None = None,
    callback: Callable[[Record], None] | None = None,
) -> list[Record]:
    """The records of problems at seeds; progress counts the predicted cost of runs.

    >>> from recallscope.sweeps.executors.workers import workers_of
    >>> problem = Problem(vocab=64, samples=512, dim=32, length=4)
    >>> with workers_of("serial") as workers:
    ...     runs = [(problem, 5), (problem, 3)]
    ...     records = run_all(runs, workers, Settings(), lambda *done: None)
    >>> [record.seed for record in records]
    [5, 3]
    """
    problems = {id(problem): problem for problem, _ in runs}.values()
    for problem in problems:
        check_problem(problem, settings)
    cells = [Cell(*run) for run in runs]
    with interrupts_obeyed(), writer_for(store, settings, problems) as writer:
        records = known(dict.fromkeys(cells), writer)
        pending = [cell for cell in dict.fromkeys(cells) if cell not in records]
        share = share_maker(pending, settings)
        total, done = sum(share(cell.problem) for cell in pending), 0.0
        for finished in run_cells(pending, workers, settings, limits, total):
            if writer is not None:
                writer.keep(finished)
            finished.tell(callback)
            records.update(zip(finished.cells, finished.records, strict=True))
            done += sum(share(cell.problem) for cell in finished.cells)
            progress(done, total)
    return [records[cell] for cell in cells]


def known(cells: Iterable[Cell], writer: RecordWriter | None) -> dict[Cell, Record]:
    """The records that exist already."""
    if writer is None:
        return {}
    # All seeds of a problem in turn: its key is made once.
    in_turn = sorted(cells, key=lambda cell: id(cell.problem))
    return {cell: found for cell in in_turn if (found := writer.find(cell)) is not None}


@contextmanager
def writer_for(
    store: Store | None, settings: Settings, problems: Iterable[Problem]
) -> Iterator[RecordWriter | None]:
    """The writer that finds and keeps records, or None without a store."""
    if store is None:
        yield None
        return
    from recallscope.sweeps.sources import check_sources
    from recallscope.sweeps.writer import RecordWriter

    check_sources(store, settings.own, problems)
    with RecordWriter(store, settings, remember=True) as writer:
        yield writer
