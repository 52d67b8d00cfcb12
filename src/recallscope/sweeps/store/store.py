"""Records in a Delta table, one row each: in a folder, or under an address of an object store.

Any number of processes write to it at once, and anybody may read. A cell that two processes have
run has two rows, and one record: one that is ok rather than another, with the metrics of both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recallscope.common.csv_files import check_output
from recallscope.common.errors import ProblemError
from recallscope.common.extras import missing
from recallscope.common.new_files import written_next_to
from recallscope.experiment.record import Record
from recallscope.problem.given_embeddings import Embeddings
from recallscope.problem.long_values import known_among

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv
    import pyarrow.parquet as pq
except ImportError:
    raise ProblemError(missing("pyarrow")) from None

from recallscope.sweeps.store.checked import NEEDED, BadRowsError, checked
from recallscope.sweeps.store.delta import DeltaRows
from recallscope.sweeps.store.delta import StoreError as StoreError
from recallscope.sweeps.store.index import INDEXED, RecordIndex
from recallscope.sweeps.store.merging import Merged, conflicting, merged, united
from recallscope.sweeps.store.schema import SCHEMA, KeyedRecord, to_records, to_table, types_of
from recallscope.sweeps.store.tables import KEYS, for_spreadsheets, joined, keys_in, texts_of, twice
from recallscope.sweeps.store.values import NamedValues

MANY_FILES = 100
"""From which on a sweep puts them together at its end."""


class Compacted(NamedTuple):
    """The numbers of files before and after."""

    before: int
    after: int


class Store:
    """Records in a folder, or under an address of an object store such as s3://bucket/folder.

    Args:
        place: the folder or the address; made when the first record is kept.

    >>> import tempfile
    >>> from recallscope import Problem, Store, sweep
    >>> cells = [(Problem(vocab=64, samples=512, dim=d, length=4), 0) for d in (16, 32)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = sweep(cells, folder)
    ...     again = sweep(cells, folder)
    ...     dims = sorted(record.problem.dim for record in Store(folder).records())
    >>> found.ran, again.ran, dims
    (2, 0, [16, 32])
    """

    def __init__(self, place: str | Path) -> None:
        self._rows = DeltaRows(place, "records")
        self._values = NamedValues(self._rows.place)
        self._index: dict[str, pa.Table] = {}

    @property
    def place(self) -> str:
        """Where it is."""
        return self._rows.place

    def exists(self) -> bool:
        """Whether there are records; a folder of something else is refused."""
        return self._rows.exists()

    # Reading.

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All records as one Arrow table, or some columns of it."""
        needed = None if columns is None else [*dict.fromkeys(["key", "status", *columns])]
        table = self._once(needed)
        for name in columns or ():
            if name not in table.column_names:
                raise StoreError(f"the store {self.place!r} has no column {name!r:.60}")
        return table if columns is None else table.select([*dict.fromkeys(columns)])

    def records(self) -> Iterator[Record]:
        """All records, one after another."""
        self._values.learn()
        yield from to_records(self._once(None))

    def records_of(self, digest: bytes) -> dict[bytes, Record]:
        """The records of a problem as it is run, by their keys, which begin with a digest."""
        self._values.learn()
        rows = []
        for path, table in self._indexed().items():
            mine = pa.array(_begin_with(digest, keys_in(table["key"])))
            if pc.any(mine).as_py():
                rows.append(self._read(path, None).filter(mine))
        table = united(joined(rows))
        return dict(zip(table["key"].to_pylist(), to_records(table), strict=True))

    def statuses(self) -> dict[bytes, str]:
        """The status of every record, by its key."""
        return self.index().statuses

    def index(self) -> RecordIndex:
        """Which cells there are records of; none where there is no store yet."""
        return RecordIndex(self._indexed().values() if self.exists() else ())

    def by_status(self) -> dict[str, int]:
        """How many records there are of each status."""
        return dict(sorted(Counter(texts_of(self.table(["status"])["status"])).items()))

    def export(self, path: str | Path) -> int:
        """Write all records to one .csv or .parquet file; how many there were."""
        path = check_output(path, "table", (".csv", ".parquet"))
        table = self._once(None)
        with written_next_to(path, "table") as part:
            if path.suffix.lower() == ".csv":
                pyarrow.csv.write_csv(for_spreadsheets(table), part)
            else:
                pq.write_table(table, part, compression="zstd")
        return int(table.num_rows)

    def embeddings(self, name: str) -> Embeddings:
        """The arrays that records of a problem with this embedding were made with.

        Args:
            name: as the problem has it, `arrays:` and 16 hexadecimal digits.

        Raises:
            StoreError: they are not here.
        """
        return self._values.arrays(name)

    def files(self) -> int:
        """How many files the records are in."""
        return len(self._rows.paths())

    # Writing.

    def make(self) -> None:
        """Make the store if there is none, or say why it cannot be written to."""
        self._rows.make(SCHEMA)

    def keep_embeddings(self, arrays: Embeddings) -> None:
        """Keep arrays that records name by their content, unless they are too large."""
        self._rows.make(SCHEMA)
        self._values.keep_arrays(arrays)

    def append(self, kept: Sequence[KeyedRecord]) -> None:
        """Add records; they are safe when this returns."""
        if kept:
            used = (value for each in kept for _, value in each.record.problem.declared)
            if not self.exists():  # to make one reads the whole log
                self._rows.make(SCHEMA)
            self._values.keep(known_among(used))
            self._rows.append(to_table(kept))

    def compact(self, drop: Sequence[str] = ()) -> Compacted:
        """Put small files together, without records of the statuses to drop.

        Args:
            drop: failed, infeasible, conflicting for cells whose records disagree, or damaged for
                files that cannot be read.
        """
        before = self.files()
        if "damaged" in drop:
            for path in self._damaged():
                self._rows.remove(path)
        self._check_files()
        for status in set(drop) - {"damaged"}:
            if status == "conflicting":
                for key in conflicting(self._rows_with(None)):
                    self._rows.delete(f"\"key\" = X'{key.hex()}'")
            else:
                self._rows.delete(f"\"status\" = '{status}'")
        self._rows.compact()
        return Compacted(before, self.files())

    def compact_if_many(self) -> None:
        """Put small files together if there are many."""
        if self.files() > MANY_FILES:
            self._check_files()
            self._rows.compact_for_now()

    def merge(self, other: Store) -> Merged:
        """Add all records of another store that are not here.

        A record of a cell that is there with more metrics brings them along.
        """
        theirs = other._once(None)
        ours = self._once(None) if self.exists() else SCHEMA.empty_table()
        counts, rows = merged(ours, theirs)
        if rows.num_rows:
            self._rows.make(SCHEMA)
            other._values.copy_to(self._values)
            self._rows.append(rows)
        return counts

    def _once(self, columns: Sequence[str] | None) -> pa.Table:
        """Each record once, with some columns or all."""
        table = self._rows_with(columns)
        if not twice(keys_in(table["key"])).any():
            return table
        whole = united(table if columns is None else self._rows_with(None))
        return whole if columns is None else whole.select(table.column_names)

    def _rows_with(self, columns: Sequence[str] | None) -> pa.Table:
        """All rows, with some columns or all."""
        return joined([self._read(path, columns) for path in self._paths()], columns)

    def _indexed(self) -> dict[str, pa.Table]:
        """What an index is made of, by file; each file is read once."""
        paths = self._paths()
        new = {path: self._read(path, INDEXED) for path in paths if path not in self._index}
        self._index = {path: (self._index | new)[path] for path in paths}
        return self._index

    def _check_files(self) -> None:
        """Raise for a file that cannot be read: to put it together with others ends a process."""
        for path in self._paths():
            self._read(path, None)

    def _damaged(self) -> list[str]:
        """The files that cannot be read, or have rows that no experiment gave."""
        found = []
        for path in self._paths():
            try:
                self._read(path, None)
            except StoreError:
                found.append(path)
        return found

    def _paths(self) -> list[str]:
        if not self.exists():
            raise StoreError(f"there is no store at {self.place!r}")
        return self._rows.paths()

    def _read(self, path: str, columns: Sequence[str] | None) -> pa.Table:
        """Rows of a file, if they can be records."""
        table = self._rows.read(path, columns, types_of)
        try:
            return checked(table if columns is not None else _completed(table))
        except BadRowsError as error:
            raise StoreError(
                f"{path!r} of the store {self.place!r} has rows that no experiment gave: {error}"
            ) from None


def _completed(table: pa.Table) -> pa.Table:
    """With all columns of records, null where no row has a value."""
    for field in SCHEMA:
        if field.name not in (*table.column_names, *NEEDED):
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table


def _begin_with(digest: bytes, keys: npt.NDArray[np.bytes_]) -> npt.NDArray[np.bool_]:
    first, last = np.array([digest, digest + b"\xff" * 8], KEYS)
    found: npt.NDArray[np.bool_] = (keys >= first) & (keys <= last)
    return found
