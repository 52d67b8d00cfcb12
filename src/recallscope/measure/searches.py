"""Searches run to their end, any number at once, each asking for runs as it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from recallscope.common.interrupts import interrupts_obeyed
from recallscope.common.progress_bar import ProgressCallback
from recallscope.experiment.cell import Cell, Settings
from recallscope.experiment.record import Record
from recallscope.measure.critical_search import CriticalSearch
from recallscope.sweeps.dispatch import run_cells
from recallscope.sweeps.executors.limits import Limits
from recallscope.sweeps.executors.workers import Workers
from recallscope.sweeps.jobs import check_problem
from recallscope.sweeps.many_runs import known, writer_for
from recallscope.sweeps.store.store import Store
from recallscope.sweeps.writer import RecordWriter

_NO_LIMITS = Limits()
_BETWEEN_SIGNS = 1.0  # seconds


def run_searches(
    searches: Sequence[CriticalSearch],
    workers: Workers,
    settings: Settings,
    progress: ProgressCallback,
    *,
    limits: Limits = _NO_LIMITS,
    store: Store | None = None,
    callback: Callable[[Record], None] | None = None,
) -> None:
    """Run searches to their end, all at once; progress counts runs, with an estimate of the rest.

    The result of a search does not depend on the others or on the workers. It gets its records in
    the order of its requests.

    >>> from recallscope.problem.problem import Problem
    >>> from recallscope.sweeps.executors.workers import workers_of
    >>> search = CriticalSearch(Problem(vocab=64, samples=1, dim=48, length=4), budget=8)
    >>> with workers_of("serial") as workers:
    ...     run_searches([search], workers, Settings(), lambda done, total: None)
    >>> search.done
    True
    """
    for search in searches:
        check_problem(search.problem, settings)
    problems = [search.problem for search in searches]
    with interrupts_obeyed(), writer_for(store, settings, problems) as writer:
        running = [_RunningSearch(search, writer) for search in searches]
        waiting: dict[Cell, list[_RunningSearch]] = {}

        def cells() -> Iterator[Cell | None]:
            """The cells that searches ask for, until all searches are done."""
            last = time.monotonic()
            while not all(each.search.done for each in running):
                sent = False
                for each in running:
                    for cell in each.take_unsent():
                        waiting.setdefault(cell, []).append(each)
                        if len(waiting[cell]) == 1:
                            yield cell
                        sent, last = True, time.monotonic()
                    if time.monotonic() > last + _BETWEEN_SIGNS:
                        yield None  # the store answers many searches: show progress
                        last = time.monotonic()
                if not sent:
                    yield None

        for finished in run_cells(cells(), workers, settings, limits):
            if writer is not None:
                writer.keep(finished)
            finished.tell(callback)
            for cell, record in zip(finished.cells, finished.records, strict=True):
                for each in waiting.pop(cell):
                    each.answer(cell, record)
            progress(*_so_far(running))


class _RunningSearch:
    """A search, its last request, and the records that have arrived for it.

    It begins at its first `take_unsent`. The prediction of its first sizes takes a while, and the
    runs of the first of a thousand searches need not wait for the last.
    """

    def __init__(self, search: CriticalSearch, writer: RecordWriter | None) -> None:
        self.search = search
        self.begun = False
        self._writer = writer
        self._asked: list[Cell] = []
        self._records: dict[Cell, Record] = {}
        self._unsent: list[Cell] = []

    def take_unsent(self) -> list[Cell]:
        """Requested cells that were not submitted yet."""
        if not self.begun:
            self.begun = True
            self._continue()
        unsent, self._unsent = self._unsent, []
        return unsent

    def answer(self, cell: Cell, record: Record) -> None:
        """Take a record; the search continues when its request is complete."""
        self._records[cell] = record
        self._continue()

    def _continue(self) -> None:
        while all(cell in self._records for cell in self._asked):
            if self._asked:
                self.search.tell([self._records[cell] for cell in self._asked])
            self._asked, self._records = [], {}
            if self.search.done:
                return
            self._asked = [Cell(*asked) for asked in self.search.ask()]
            self._records = known(self._asked, self._writer)
            self._unsent += [cell for cell in self._asked if cell not in self._records]


def _so_far(searches: Sequence[_RunningSearch]) -> tuple[float, float]:
    """Runs done, and all runs as estimated from the searches that have begun."""
    begun = [search.search for search in searches if search.begun]
    expected = sum(search.expected_evaluations for search in begun)
    return (
        sum(search.evaluations for search in begun),
        expected * len(searches) / max(len(begun), 1),
    )
