"""Records for those who asked for them: of given runs in their order, and of searches as they ask.

With a store, runs that it knows are not run again and new ones are kept; without, nothing is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from recallscope.measurement.critical import CriticalSearch
from recallscope.problem import Problem
from recallscope.record import Record
from recallscope.sweeps.cell import Cell, Settings
from recallscope.sweeps.dispatch import Finished, cost_maker, run_cells
from recallscope.sweeps.executor import Executor
from recallscope.sweeps.limits import Limits
from recallscope.sweeps.work import check_problem

if TYPE_CHECKING:
    from recallscope.sweeps.store import Store

Progress = Callable[[float, float], None]
"""Called with (work done, work in all)."""

_NO_LIMITS = Limits()
_BETWEEN_SIGNS = 1.0  # seconds


def run_all(
    runs: Sequence[tuple[Problem, int]],
    executor: Executor,
    settings: Settings,
    progress: Progress,
    *,
    limits: Limits = _NO_LIMITS,
    store: Store | None = None,
) -> list[Record]:
    """The records of problems at seeds; progress goes by what each run is predicted to cost.

    >>> from recallscope.sweeps.executor import Serial
    >>> problem = Problem(vocab=64, samples=512, dim=32, length=4)
    >>> records = run_all([(problem, 5), (problem, 3)], Serial(), Settings(), lambda *done: None)
    >>> [record.seed for record in records]
    [5, 3]
    """
    for problem in dict.fromkeys(problem for problem, _ in runs):
        check_problem(problem, settings)
    cells = [Cell(*run) for run in runs]
    with _shelf(store, settings) as shelf:
        records = {cell: record for cell in cells if (record := shelf.find(cell)) is not None}
        pending = [cell for cell in dict.fromkeys(cells) if cell not in records]
        cost = cost_maker(settings)
        total, done = sum(cost(cell.problem).seconds for cell in pending), 0.0
        for finished in run_cells(pending, executor, settings, limits, total):
            shelf.keep(finished)
            records.update(zip(finished.cells, finished.records, strict=True))
            done += sum(cost(cell.problem).seconds for cell in finished.cells)
            progress(done, total)
    return [records[cell] for cell in cells]


def carry_out(
    searches: Sequence[CriticalSearch],
    executor: Executor,
    settings: Settings,
    progress: Progress,
    *,
    limits: Limits = _NO_LIMITS,
    store: Store | None = None,
) -> None:
    """Run searches to their end, all at once; progress goes by runs, those to come guessed.

    What a search finds depends neither on the others nor on the executor: it is told the records of
    what it asked for in the order in which it asked.

    >>> from recallscope.sweeps.executor import Serial
    >>> search = CriticalSearch(Problem(vocab=64, samples=1, dim=48, length=4), budget=8)
    >>> carry_out([search], Serial(), Settings(), lambda done, total: None)
    >>> search.done
    True
    """
    for search in searches:
        check_problem(search.problem, settings)
    with _shelf(store, settings) as shelf:
        talks, last = [], time.monotonic()
        for search in searches:
            talks.append(_Talk(search, shelf))  # which takes a while, if much is on the shelf
            if time.monotonic() > last + _BETWEEN_SIGNS:
                progress(*_so_far(searches))
                last = time.monotonic()
        waiting: dict[Cell, list[_Talk]] = {}

        def cells() -> Iterator[Cell | None]:
            """What the searches ask for, as long as one of them goes on."""
            while not all(talk.search.done for talk in talks):
                unsent = [(talk, cell) for talk in talks for cell in talk.take_unsent()]
                for talk, cell in unsent:
                    waiting.setdefault(cell, []).append(talk)
                    if len(waiting[cell]) == 1:
                        yield cell
                if not unsent:
                    yield None

        for finished in run_cells(cells(), executor, settings, limits):
            shelf.keep(finished)
            for cell, record in zip(finished.cells, finished.records, strict=True):
                for talk in waiting.pop(cell):
                    talk.answer(cell, record)
            progress(*_so_far(searches))


def _so_far(searches: Sequence[CriticalSearch]) -> tuple[float, float]:
    """Runs told, and runs in all as far as can be guessed."""
    return (
        sum(search.evaluations for search in searches),
        sum(search.expected_evaluations for search in searches),
    )


class _Talk:
    """A search, what it asked for last, and the records of that which have come."""

    def __init__(self, search: CriticalSearch, shelf: _Shelf) -> None:
        self.search = search
        self._shelf = shelf
        self._asked: list[Cell] = []
        self._records: dict[Cell, Record] = {}
        self._unsent: list[Cell] = []
        self._go_on()

    def take_unsent(self) -> list[Cell]:
        """Cells asked for that nobody has been told to run yet."""
        unsent, self._unsent = self._unsent, []
        return unsent

    def answer(self, cell: Cell, record: Record) -> None:
        """Take a record in; when all that was asked for is there, the search goes on."""
        self._records[cell] = record
        self._go_on()

    def _go_on(self) -> None:
        while all(cell in self._records for cell in self._asked):
            if self._asked:
                self.search.tell([self._records[cell] for cell in self._asked])
            self._asked, self._records = [], {}
            if self.search.done:
                return
            self._asked = [Cell(*asked) for asked in self.search.ask()]
            for cell in self._asked:
                record = self._shelf.find(cell)
                if record is None:
                    self._unsent.append(cell)
                else:
                    self._records[cell] = record


class _Shelf(Protocol):
    """Where records are looked for before a run, and put after it."""

    def find(self, cell: Cell) -> Record | None: ...

    def keep(self, done: Finished) -> None: ...


class _NoShelf:
    def find(self, cell: Cell) -> Record | None:
        return None

    def keep(self, done: Finished) -> None:
        pass


@contextmanager
def _shelf(store: Store | None, settings: Settings) -> Iterator[_Shelf]:
    if store is None:
        yield _NoShelf()
        return
    from recallscope.sweeps.keeper import Keeper

    with (
        store.writing() as statuses,
        Keeper(store, settings, statuses, remember=True) as keeper,
    ):
        yield keeper
