"""The writer of records: it collects records from workers, and writes them in shards."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace

from recallscope.cell import Cell, Settings
from recallscope.problem import ProblemError
from recallscope.record import Record, Status
from recallscope.store.files import StoreWarning
from recallscope.store.index import RecordIndex
from recallscope.store.keys import CellKeys
from recallscope.store.merging import completed, disagreements
from recallscope.store.schema import KeyedRecord, to_records
from recallscope.store.store import Store
from recallscope.sweeps.dispatch import Finished

_FIRST_FLUSH = 1.0  # seconds
_BETWEEN_FLUSHES = 5.0
_MOST_UNWRITTEN = 20_000  # records


class RecordWriter:
    """Gathers records and writes them to a store that is open for writing, every few seconds.

    With `remember`, `find` returns new records too, for searches.
    """

    def __init__(
        self, store: Store, settings: Settings, index: RecordIndex, *, remember: bool = False
    ) -> None:
        self._store = store
        self._keys = CellKeys(settings)
        self._embeddings = settings.embeddings
        self._index = index
        self._unwritten: list[KeyedRecord] = []
        self._completed: list[KeyedRecord] = []
        self._rows: dict[bytes, tuple[str, int]] | None = None
        self._new: dict[bytes, Record] | None = {} if remember else None
        self._next_flush = time.monotonic() + _FIRST_FLUSH

    def __enter__(self) -> RecordWriter:
        if self._embeddings is not None:
            self._store.keep_embeddings(self._embeddings)
        return self

    def __exit__(self, *exception: object) -> None:
        self.flush()

    def find(self, cell: Cell) -> Record | None:
        """The record of a cell that was in the store before, or that was kept since."""
        known = self._index.find(self._keys, cell)
        if known is None or known.lacks:
            return None
        if self._new is not None and known.key in self._new:
            return self._new[known.key]
        # It may have been run for more metrics than are asked for now.
        return replace(self._read(known.key), problem=cell.problem)

    def _read(self, key: bytes) -> Record:
        if self._rows is None or key not in self._rows:
            self.flush()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StoreWarning)  # the opening warned already
                self._tables = {shard.name: shard.table for shard in self._store.read()}
            self._rows = {
                key: (name, row)
                for name, table in self._tables.items()
                for row, key in enumerate(table["key"].to_pylist())
            }
        name, row = self._rows[key]
        return next(to_records(self._tables[name].slice(row, 1)))

    def keep(self, done: Finished) -> None:
        """Collect records; they are on disk some seconds later, or when the writer is closed."""
        for cell, record in zip(done.cells, done.records, strict=True):
            known = self._index.find(self._keys, cell)
            if known is None:
                kept = KeyedRecord(self._keys(cell), record)
                self._unwritten.append(kept)
            elif known.lacks and record.status is Status.OK:
                kept = KeyedRecord(known.key, self._complete(known.key, record))
                self._completed.append(kept)
            else:
                continue
            self._index.add(*kept)
            if self._new is not None:
                self._new[kept.key] = record
        unwritten = len(self._unwritten) + len(self._completed)
        due = unwritten >= _MOST_UNWRITTEN or time.monotonic() >= self._next_flush
        if unwritten and due:  # the first records are written at once, even after a long run
            self.flush()

    def _complete(self, key: bytes, record: Record) -> Record:
        """The stored record, with the metrics that its cell was run again for."""
        old = self._read(key)
        if differing := disagreements(old, record):
            was, now = (_value(each, differing[0]) for each in (old, record))
            raise ProblemError(
                f"{', '.join(record.problem.metrics)} asked for a second run of "
                f"{record.problem!r} at seed {record.seed}, and {differing[0]} came back as {now} "
                f"where the store {self._store.place!r} has {was}, written with "
                f"{_versions(old)}; this is {_versions(record)}. Give the same versions, or "
                "another store"
            )
        return completed(old, record)

    def flush(self) -> None:
        """Write what was gathered."""
        # The lists are emptied first: an interrupt during the write may cause a second run of these
        # cells, but never a second copy.
        records, self._unwritten = self._unwritten, []
        replacing, self._completed = self._completed, []
        self._store.append(records)
        self._next_flush = time.monotonic() + _BETWEEN_FLUSHES
        if replacing:
            # This rewrites whole shards, which may take longer than the runs in a large store.
            started = time.monotonic()
            self._store.replace(replacing)
            self._rows = None
            self._next_flush += 10 * (time.monotonic() - started)


def _value(record: Record, name: str) -> object:
    return record.metrics.get(name, getattr(record, name, None))


def _versions(record: Record) -> str:
    found = record.provenance.versions
    return ", ".join(f"{name} {version}" for name, version in found.items()) or "unknown versions"
