"""The runs that claims rest on, in a folder: `records`, a store, and `readings.jsonl` beside it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recallscope.cell import Cell, Settings
from recallscope.measurement.critical import CriticalSearch
from recallscope.paper.measurements import MEASURES
from recallscope.paper.presets import sweep_of
from recallscope.problem import Problem, ProblemError
from recallscope.record import Record, Status

RECORDS, READINGS = "records", "readings.jsonl"


class NotMeasuredError(Exception):
    """A claim was asked of runs that are not all there."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What a measurement beside the record found of one problem at one seed."""

    measure: str
    problem: Problem
    seed: int
    values: Mapping[str, float]
    seconds: float

    def to_json(self) -> str:
        """One line of a file of readings."""
        sizes = {name: value for name, value in self.problem.to_dict().items() if value is not None}
        return json.dumps(
            {
                "measure": self.measure,
                "problem": sizes,
                "seed": self.seed,
                "values": dict(self.values),
                "seconds": round(self.seconds, 3),
            },
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str) -> Measurement:
        """The inverse of `to_json`."""
        fields: dict[str, Any] = json.loads(text)
        return cls(**fields | {"problem": Problem.from_dict(fields["problem"])})


def read_readings(path: Path) -> list[Measurement]:
    """The readings in a file; a last line that a crash cut short is none."""
    if not path.exists():
        return []
    *lines, last = path.read_text(encoding="utf-8").split("\n")
    del last  # what follows the last end of a line was not written to its end
    readings = []
    for number, line in enumerate(lines, start=1):
        try:
            readings.append(Measurement.from_json(line))
        except (ValueError, TypeError, KeyError) as error:
            raise ProblemError(f"line {number} of {str(path)!r} is no reading: {error}") from None
    return readings


class Evidence:
    """Runs by the sweep they belong to, at one size.

    >>> Evidence("smoke", [], []).runs("locking")
    Traceback (most recent call last):
    recallscope.paper.evidence.NotMeasuredError: 24 of the 24 runs of locking are missing
    """

    def __init__(
        self, size: str, records: Iterable[Record], readings: Iterable[Measurement]
    ) -> None:
        self.size = size
        self._records: dict[int, list[Record]] = defaultdict(list)
        self._cells: dict[tuple[Problem, int], list[Record]] = defaultdict(list)
        for record in records:
            self._records[record.seed].append(record)
            self._cells[record.problem, record.seed].append(record)
        self._told: dict[str, list[tuple[CriticalSearch, list[Record]]]] = {}
        self._readings = {(each.measure, each.problem, each.seed): each for each in readings}

    @classmethod
    def at(cls, place: str | Path, size: str) -> Evidence:
        """The runs in a folder."""
        from recallscope.store.store import Store

        records = Path(place) / RECORDS
        found = Store(records).records() if records.exists() else iter(())
        return cls(size, found, read_readings(Path(place) / READINGS))

    def runs(self, name: str) -> list[Record]:
        """The record of every cell of a sweep, in its order."""
        spec = sweep_of(name, self.size)
        cells = list(spec.cells())
        found = [self._record(cell, spec.settings) for cell in cells]
        missing = sum(record is None for record in found)
        _complain(missing, len(cells), "runs", name)
        return [record for record in found if record is not None]

    def searches(self, name: str) -> list[CriticalSearch]:
        """The searches of a sweep, each told all of its runs."""
        searches = self.told(name)
        _complain(sum(not search.done for search in searches), len(searches), "searches", name)
        return searches

    def told(self, name: str) -> list[CriticalSearch]:
        """The searches of a sweep, told what there is of their runs."""
        if name not in self._told:  # many claims rest on the same
            spec = sweep_of(name, self.size)
            told = [(search, self._asked_by(search, spec.settings)) for search in spec.searches()]
            for search, records in told:
                search.tell(records)
            self._told[name] = told
        return [search for search, _ in self._told[name]]

    def readings(self, name: str) -> list[Measurement]:
        """The reading of every cell of a sweep, in its order."""
        cells = list(sweep_of(name, self.size).cells())
        found = [self._readings.get((name, *cell)) for cell in cells]
        _complain(sum(reading is None for reading in found), len(cells), "readings", name)
        return [reading for reading in found if reading is not None]

    def lost(self, names: Iterable[str]) -> int:
        """How many runs of some sweeps failed or are infeasible."""
        return sum(record.status is not Status.OK for record in self.used(names)[0])

    def used(self, names: Iterable[str]) -> tuple[list[Record], list[Measurement]]:
        """The records and readings of some sweeps, each once."""
        records: dict[tuple[Problem, int], Record] = {}
        readings: list[Measurement] = []
        for name in dict.fromkeys(names):
            if name in MEASURES:
                readings += self.readings(name)
            else:
                records |= {(each.problem, each.seed): each for each in self._of(name)}
        return list(records.values()), readings

    def _of(self, name: str) -> Iterator[Record]:
        if sweep_of(name, self.size).critical is None:
            yield from self.runs(name)
            return
        self.searches(name)  # all of them must be done
        for _, records in self._told[name]:
            yield from records

    def _asked_by(self, search: CriticalSearch, settings: Settings) -> list[Record]:
        """The runs of a search, no other having its seeds, in whole batches without a gap.

        It looks at what it has after each batch, so that part of one is as if it were not there:
        interrupted and resumed it ends where it would have ended.
        """
        wanted = _all_but(search, search.problem)
        found: list[Record] = []
        for seed in range(search.first_seed, search.first_seed + search.budget):
            mine = [
                record
                for record in self._records.get(seed, ())
                if _all_but(search, record.problem) == wanted and _was_run_so(record, settings)
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


def _all_but(search: CriticalSearch, problem: Problem) -> list[Any]:
    """All fields of a problem but the size sought."""
    return [value for name, value in vars(problem).items() if name != search.quantity]


def _was_run_so(record: Record, settings: Settings) -> bool:
    """The same problem may have been run in other ways too."""
    tests = record.test_samples or settings.test_samples
    return (record.provenance.dtype, tests) == (settings.dtype, settings.test_samples)


def _complain(missing: int, expected: int, what: str, name: str) -> None:
    if missing:
        raise NotMeasuredError(f"{missing} of the {expected} {what} of {name} are missing")
