"""Records for those who asked for them: of given runs in their order, and of searches as they ask.

With a store, runs that it knows are not run again and new ones are kept; without, nothing is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from recallscope.cell import Cell, Settings
from recallscope.common.interrupts import interrupts_obeyed
from recallscope.common.progress_bar import ProgressCallback
from recallscope.executors.base import Executor
from recallscope.executors.limits import Limits
from recallscope.measurement.critical import CriticalSearch
from recallscope.problem import Problem
from recallscope.record import Record
from recallscope.sweeps.dispatch import Finished, run_cells, share_maker
from recallscope.sweeps.jobs import check_problem

if TYPE_CHECKING:
    from recallscope.store.store import Store
    from recallscope.sweeps.writer import RecordWriter

_NO_LIMITS = Limits()
_BETWEEN_SIGNS = 1.0  # seconds


def run_all(
    runs: Sequence[tuple[Problem, int]],
    executor: Executor,
    settings: Settings,
    progress: ProgressCallback,
    *,
    limits: Limits = _NO_LIMITS,
    store: Store | None = None,
    callback: Callable[[Record], None] | None = None,
) -> list[Record]:
    """The records of problems at seeds; progress goes by what each run is predicted to cost.

    >>> from recallscope.executors.serial import Serial
    >>> problem = Problem(vocab=64, samples=512, dim=32, length=4)
    >>> records = run_all([(problem, 5), (problem, 3)], Serial(), Settings(), lambda *done: None)
    >>> [record.seed for record in records]
    [5, 3]
    """
    for problem in {id(problem): problem for problem, _ in runs}.values():
        check_problem(problem, settings)
    cells = [Cell(*run) for run in runs]
    with interrupts_obeyed(), _writer(store, settings) as writer:
        records = _known(dict.fromkeys(cells), writer)
        pending = [cell for cell in dict.fromkeys(cells) if cell not in records]
        share = share_maker(pending, settings)
        total, done = sum(share(cell.problem) for cell in pending), 0.0
        for finished in run_cells(pending, executor, settings, limits, total):
            _keep(finished, writer, callback)
            records.update(zip(finished.cells, finished.records, strict=True))
            done += sum(share(cell.problem) for cell in finished.cells)
            progress(done, total)
    return [records[cell] for cell in cells]


def run_searches(
    searches: Sequence[CriticalSearch],
    executor: Executor,
    settings: Settings,
    progress: ProgressCallback,
    *,
    limits: Limits = _NO_LIMITS,
    store: Store | None = None,
    callback: Callable[[Record], None] | None = None,
) -> None:
    """Run searches to their end, all at once; progress goes by runs, those to come guessed.

    What a search finds depends neither on the others nor on the executor: it is told the records of
    what it asked for in the order in which it asked.

    >>> from recallscope.executors.serial import Serial
    >>> search = CriticalSearch(Problem(vocab=64, samples=1, dim=48, length=4), budget=8)
    >>> run_searches([search], Serial(), Settings(), lambda done, total: None)
    >>> search.done
    True
    """
    for search in searches:
        check_problem(search.problem, settings)
    with interrupts_obeyed(), _writer(store, settings) as writer:
        running = [_RunningSearch(search, writer) for search in searches]
        waiting: dict[Cell, list[_RunningSearch]] = {}

        def cells() -> Iterator[Cell | None]:
            """What the searches ask for, as long as one of them is not done."""
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
                        yield None  # many searches that the store answers: time to show it
                        last = time.monotonic()
                if not sent:
                    yield None

        for finished in run_cells(cells(), executor, settings, limits):
            _keep(finished, writer, callback)
            for cell, record in zip(finished.cells, finished.records, strict=True):
                for each in waiting.pop(cell):
                    each.answer(cell, record)
            progress(*_so_far(running))


def _keep(
    finished: Finished, writer: RecordWriter | None, callback: Callable[[Record], None] | None
) -> None:
    if writer is not None:
        writer.keep(finished)
    finished.tell(callback)


def _known(cells: Iterable[Cell], writer: RecordWriter | None) -> dict[Cell, Record]:
    """The records that there are already."""
    if writer is None:
        return {}
    return {cell: found for cell in cells if (found := writer.find(cell)) is not None}


class _RunningSearch:
    """A search, what it asked for last, and the records of that which have come.

    It begins when it is first looked at: where the closed forms would look takes a while, and the
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
        """Cells asked for that nobody has been told to run yet."""
        if not self.begun:
            self.begun = True
            self._continue()
        unsent, self._unsent = self._unsent, []
        return unsent

    def answer(self, cell: Cell, record: Record) -> None:
        """Take a record in; when all that was asked for is there, the search continues."""
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
            self._records = _known(self._asked, self._writer)
            self._unsent += [cell for cell in self._asked if cell not in self._records]


def _so_far(searches: Sequence[_RunningSearch]) -> tuple[float, float]:
    """Runs told, and runs in all as far as can be guessed from the searches that have begun."""
    begun = [each.search for each in searches if each.begun]
    expected = sum(search.expected_evaluations for search in begun)
    return (
        sum(search.evaluations for search in begun),
        expected * len(searches) / max(len(begun), 1),
    )


@contextmanager
def _writer(store: Store | None, settings: Settings) -> Iterator[RecordWriter | None]:
    """Where records are looked for before a run, and put after it; nowhere without a store."""
    if store is None:
        yield None
        return
    from recallscope.sweeps.writer import RecordWriter, check_source

    with store.writing() as index:
        check_source(store, settings.own)
        with RecordWriter(store, settings, index, remember=True) as writer:
            yield writer
