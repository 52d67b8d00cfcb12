"""The runs that claims rest on: records of a store in a folder, runs and measures alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from recallscope.cell import Cell, Settings
from recallscope.measurement.critical import CriticalSearch, all_but
from recallscope.paper.crossings import Kept, remember
from recallscope.paper.presets import sweep_of
from recallscope.problem import Problem
from recallscope.record import Record, Status
from recallscope.validation.measures import MEASURES

RECORDS = "records"


class NotMeasuredError(Exception):
    """Some runs of a claim are missing."""


class Evidence:
    """Runs by the sweep they belong to, at one size.

    >>> Evidence("smoke", []).runs("locking")
    Traceback (most recent call last):
    recallscope.paper.evidence.NotMeasuredError: 24 of the 24 runs of locking are missing
    """

    def __init__(self, size: str, records: Iterable[Record], crossings: Kept | None = None) -> None:
        self.size = size
        self._crossings = crossings or {}
        self._records: dict[int, list[Record]] = defaultdict(list)
        self._cells: dict[tuple[Problem, int], list[Record]] = defaultdict(list)
        self._measures: dict[tuple[str, Problem, int], Record] = {}
        for record in records:
            if record.measure is not None:
                if record.status is Status.OK:
                    self._measures[record.measure, record.problem, record.seed] = record
                continue
            self._records[record.seed].append(record)
            self._cells[record.problem, record.seed].append(record)
        # Many claims use the same sweeps.
        self._searched: dict[str, list[tuple[CriticalSearch, list[Record]]]] = {}
        self._found: dict[tuple[str, str], list[Record | None]] = {}

    @classmethod
    def at(cls, place: str | Path, size: str, crossings: Kept | None = None) -> Evidence:
        """The runs in a folder, with posteriors that are already known."""
        from recallscope.store.store import Store

        records = Path(place) / RECORDS
        found = Store(records).records() if records.exists() else iter(())
        return cls(size, found, crossings)

    def runs(self, name: str) -> list[Record]:
        """The record of every cell of a sweep, in its order."""
        if (asked := ("runs", name)) not in self._found:
            spec = sweep_of(name, self.size)
            self._found[asked] = [self._record(cell, spec.settings) for cell in spec.cells()]
        return _all_of(self._found[asked], *asked)

    def searches(self, name: str) -> list[CriticalSearch]:
        """The searches of a sweep, each with all of its runs."""
        searches = self.searches_so_far(name)
        _complain(sum(not search.done for search in searches), len(searches), "searches", name)
        return searches

    def searches_so_far(self, name: str) -> list[CriticalSearch]:
        """The searches of a sweep, with the runs that there are."""
        if name not in self._searched:
            spec = sweep_of(name, self.size)
            asked = [(search, self._asked_by(search, spec.settings)) for search in spec.searches()]
            for search, records in asked:
                search.tell(records)
                remember(search, self._crossings)
            self._searched[name] = asked
        return [search for search, _ in self._searched[name]]

    def measures(self, name: str) -> list[Record]:
        """The measure of every cell of a sweep, in its order."""
        if (asked := ("measures", name)) not in self._found:
            cells = sweep_of(name, self.size).cells()
            self._found[asked] = [self._measures.get((name, *cell)) for cell in cells]
        return _all_of(self._found[asked], *asked)

    def lost(self, names: Iterable[str]) -> int:
        """How many runs of some sweeps failed or are infeasible."""
        return sum(record.status is not Status.OK for record in self.used(names))

    def used(self, names: Iterable[str]) -> list[Record]:
        """The records of some sweeps, each once."""
        found: dict[tuple[str | None, Problem, int], Record] = {}
        for name in dict.fromkeys(names):
            for each in self.measures(name) if name in MEASURES else self._of(name):
                found[each.measure, each.problem, each.seed] = each
        return list(found.values())

    def _of(self, name: str) -> Iterator[Record]:
        if sweep_of(name, self.size).critical is None:
            yield from self.runs(name)
            return
        self.searches(name)  # all of them must be done
        for _, records in self._searched[name]:
            yield from records

    def _asked_by(self, search: CriticalSearch, settings: Settings) -> list[Record]:
        """The runs of a search in whole batches without a gap; no other search has its seeds.

        A search decides after each batch, so an incomplete batch is ignored. After an interruption
        it then ends where it would have ended.
        """
        wanted = all_but(search.quantity, search.problem)
        found: list[Record] = []
        for seed in range(search.first_seed, search.first_seed + search.budget):
            mine = [
                record
                for record in self._records.get(seed, ())
                if all_but(search.quantity, record.problem) == wanted
                and _was_run_so(record, settings)
            ]
            if not mine:
                break
            found += mine[:1]
        if len(found) == search.budget:
            return found
        return found[: len(found) - len(found) % search.batch]

    def _record(self, cell: Cell, settings: Settings) -> Record | None:
        known = self._cells.get((cell.problem, cell.seed), ())
        return next((record for record in known if _was_run_so(record, settings)), None)


def _was_run_so(record: Record, settings: Settings) -> bool:
    """Whether a record has these settings; a problem may have been run with others too."""
    tests = record.test_samples or settings.test_samples
    return (record.provenance.dtype, tests) == (settings.dtype, settings.test_samples)


def _all_of(found: list[Record | None], what: str, name: str) -> list[Record]:
    known = [record for record in found if record is not None]
    _complain(len(found) - len(known), len(found), what, name)
    return known


def _complain(missing: int, expected: int, what: str, name: str) -> None:
    if missing:
        raise NotMeasuredError(f"{missing} of the {expected} {what} of {name} are missing")
