"""The writer of records: it collects records from workers, and commits them every few seconds."""

from __future__ import annotations

import time
from dataclasses import replace

from recallscope.common.errors import ProblemError
from recallscope.common.status import Status
from recallscope.experiment.cell import Cell, Settings
from recallscope.experiment.record import Record
from recallscope.sweeps.dispatch import Finished
from recallscope.sweeps.store.cell_keys import CellKeys
from recallscope.sweeps.store.index import RecordIndex
from recallscope.sweeps.store.merging import completed, disagreements, value_of, versions_of
from recallscope.sweeps.store.schema import KeyedRecord
from recallscope.sweeps.store.store import Store

_FIRST_COMMIT = 1.0  # seconds
_BETWEEN_COMMITS = 5.0
_MOST_UNWRITTEN = 20_000  # records
_SHARE_OF_READING = 0.05
"""Of the time, at most, for looking which cells others have run."""


class RecordWriter:
    """Gathers records and commits them every few seconds; looks at what others have committed.

    With `remember`, `find` returns new records too, for searches.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        index: RecordIndex | None = None,
        *,
        remember: bool = False,
    ) -> None:
        self._store = store
        self._keys = CellKeys(settings)
        self._embeddings = settings.embeddings
        self._unwritten: list[KeyedRecord] = []
        self._known: dict[bytes, dict[bytes, Record]] = {}  # by the digest of their problem
        self._new: dict[bytes, Record] | None = {} if remember else None
        self.index = store.index() if index is None else index
        self._next_look = 0.0
        self._next_commit = time.monotonic() + _FIRST_COMMIT

    def _look(self) -> None:
        """See what others have committed, unless it was just looked."""
        started = time.monotonic()
        if started >= self._next_look:
            self.index = self._store.index()
            took = time.monotonic() - started
            self._next_look = time.monotonic() + took / _SHARE_OF_READING

    def __enter__(self) -> RecordWriter:
        self._store.make()
        if self._embeddings is not None:
            self._store.keep_embeddings(self._embeddings)
        return self

    def __exit__(self, *exception: object) -> None:
        if self.commit():
            self._store.compact_if_many()

    def status(self, cell: Cell) -> str | None:
        """The status of the record of a cell; None if there is none, or one that lacks a metric."""
        known = self.index.find(self._keys, cell)
        return None if known is None or known.lacks else known.status

    def find(self, cell: Cell) -> Record | None:
        """The record of a cell that was in the store before, or that was kept since."""
        known = self.index.find(self._keys, cell)
        if known is None or known.lacks:
            return None
        if self._new is not None and known.key in self._new:
            return self._new[known.key]
        # It may have been run for more metrics than are asked for now.
        return replace(self._record(known.key), problem=cell.problem)

    def _record(self, key: bytes) -> Record:
        digest = key[:16]
        if key not in self._known.get(digest, {}):
            self.commit()
            self._known[digest] = self._store.records_of(digest)
        return self._known[digest][key]

    def keep(self, done: Finished) -> None:
        """Collect records; they are committed some seconds later, or when the writer is closed."""
        for cell, record in zip(done.cells, done.records, strict=True):
            known = self.index.find(self._keys, cell)
            if known is None:
                kept = KeyedRecord(self._keys(cell), record)
            elif known.lacks and record.status is Status.OK:
                kept = KeyedRecord(known.key, self._complete(known.key, record))
            else:
                continue
            self._unwritten.append(kept)
            self.index.add(*kept)
            if self._new is not None:
                self._new[kept.key] = record
        due = len(self._unwritten) >= _MOST_UNWRITTEN or time.monotonic() >= self._next_commit
        if due and self.commit():
            self._look()

    def _complete(self, key: bytes, record: Record) -> Record:
        """The stored record, with the metrics that its cell was run again for."""
        old = self._record(key)
        if differing := disagreements(old, record):
            was, now = (value_of(each, differing[0]) for each in (old, record))
            raise ProblemError(
                f"{', '.join(record.problem.metrics)} asked for a second run of "
                f"{record.problem!r} at seed {record.seed}, and {differing[0]} came back as {now} "
                f"where the store {self._store.place!r} has {was}, written with "
                f"{versions_of(old)}; this is {versions_of(record)}. Give the same versions, or "
                "another store"
            )
        return completed(old, record)

    def commit(self) -> bool:
        """Commit what was gathered, if there is anything."""
        # The list is emptied first: an interrupt during the write may cause a second run of these
        # cells, but never a second copy.
        records, self._unwritten = self._unwritten, []
        self._next_commit = time.monotonic() + _BETWEEN_COMMITS
        if records:
            self._store.append(records)
        return bool(records)
