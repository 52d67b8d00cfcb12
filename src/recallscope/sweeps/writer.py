"""Between the workers and the store: records come in one by one, and go out in shards."""

from __future__ import annotations

import time
import warnings

from recallscope.cell import Cell, OwnExperiment, Settings
from recallscope.problem import ProblemError
from recallscope.record import Record
from recallscope.store.keys import key_maker
from recallscope.store.schema import KeyedRecord, to_records
from recallscope.store.store import Store, StoreWarning
from recallscope.store.tables import texts_of
from recallscope.sweeps.dispatch import Finished

_FIRST_FLUSH = 1.0  # seconds
_BETWEEN_FLUSHES = 5.0
_MOST_UNWRITTEN = 20_000  # records


class RecordWriter:
    """Gathers records and writes them to a store that is open for writing, every few seconds.

    With `remember`, what was kept can be found again: for searches, which ask for what they need.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        statuses: dict[bytes, str],
        *,
        remember: bool = False,
    ) -> None:
        self._store = store
        self._key_of = key_maker(settings)
        self._statuses = statuses
        self._unwritten: list[KeyedRecord] = []
        self._rows: dict[bytes, tuple[str, int]] | None = None
        self._new: dict[bytes, Record] | None = {} if remember else None
        self._next_flush = time.monotonic() + _FIRST_FLUSH

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.flush()

    def find(self, cell: Cell) -> Record | None:
        """The record of a cell that was in the store before, or that was kept since."""
        key = self._key_of(cell)
        if key not in self._statuses:
            return None
        if self._new is not None and key in self._new:
            return self._new[key]
        if self._rows is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StoreWarning)  # it was told of at the opening
                self._tables = {shard.name: shard.table for shard in self._store.read()}
            self._rows = {
                key: (name, row)
                for name, table in self._tables.items()
                for row, key in enumerate(table["key"].to_pylist())
            }
        name, row = self._rows[key]
        return next(to_records(self._tables[name].slice(row, 1)))

    def keep(self, done: Finished) -> None:
        """Take records in; they are safe some seconds later, or when the writer is left."""
        for cell, record in zip(done.cells, done.records, strict=True):
            key = self._key_of(cell)
            if key not in self._statuses:
                self._statuses[key] = str(record.status)
                self._unwritten.append(KeyedRecord(key, record))
                if self._new is not None:
                    self._new[key] = record
        due = len(self._unwritten) >= _MOST_UNWRITTEN or time.monotonic() >= self._next_flush
        if self._unwritten and due:  # the first records are safe at once, however long they took
            self.flush()

    def flush(self) -> None:
        """Write what was gathered."""
        # Taken out first: an interrupt during the write may cost these a second run, but can
        # never have them written twice.
        records, self._unwritten = self._unwritten, []
        self._store.append(records)
        self._next_flush = time.monotonic() + _BETWEEN_FLUSHES


def check_source(store: Store, own: OwnExperiment | None) -> None:
    """Raise if the store has records of an experiment of this name and version by other source."""
    if own is None or not store.files.exists():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoreWarning)  # told of at the opening
        told = texts_of(store.table(["measure"])["measure"])
    beginning = f"{own.name} v{own.version} "
    for other in set(told) - {own.measure}:
        if other.startswith(beginning):
            raise ProblemError(
                f"the store {store.place!r} has records of {own.name}, version {own.version}, made "
                f"by another source; give version={own.version + 1} or another name, or use "
                "another store"
            )
