"""Rows in a Delta table, in a folder or an object store: the one file that imports deltalake.

Any number of processes may add rows at once: each commit is a file of rows and an entry of the log,
and counts from the moment that the entry is there. Nothing needs repair after a crash.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from recallscope.common.errors import ProblemError
from recallscope.common.extras import missing
from recallscope.common.formatting import printable
from recallscope.common.given_files import open_regular
from recallscope.problem.problem import SCHEMA_VERSION

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from deltalake import DeltaTable, WriterProperties, write_deltalake
    from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
    from deltalake.fs import DeltaStorageHandler
except ImportError:
    raise ProblemError(missing("deltalake")) from None

_NAME = "recallscope"
_TRIES = 50
"""To commit while others do: of two that add a column at once, one is to look again."""
_MOST_ROWS = 2**27
"""Of one file; one that is put together has some hundred megabytes."""
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://")
_HALF = re.compile(r"[a-z][a-z0-9+.-]+:/*$|[a-z][a-z0-9+.-]+:/[^/]")
_NOT_IN_A_PLACE = re.compile(r"[\x00-\x1f\x7f-\x9f\[\]\\%]")
_INSIDE = re.compile(r"(?!.*(^|/|%2[fF])(\.|%2[eE]){2}(/|%2[fF]|$))[^/:\\][^:\\]*")
"""A path that does not leave the table: relative, without '..', and of no other place."""
_COLOUR = re.compile("\x1b\\[[0-9;]*m")
_OPTIONS = {"aws_conditional_put": "etag"}


class StoreError(ProblemError):
    """A store that cannot be used as asked."""


class DeltaRows:
    """The rows of one Delta table.

    Args:
        place: a folder, or an address such as s3://bucket/folder.
        what: what the rows are; a table of anything else is refused.
    """

    def __init__(self, place: str | Path, what: str) -> None:
        text = str(place).removeprefix("file://")
        if not text:
            raise StoreError(
                "a store needs a place: a folder, or an address such as s3://bucket/facts"
            )
        if _HALF.match(text):
            raise StoreError(
                f"a store cannot be at {text!r:.200}; give a folder, or a whole address as text, "
                "such as s3://bucket/facts"
            )
        if _NOT_IN_A_PLACE.search(text):
            raise StoreError(
                f"a store cannot be at {text!r:.200}: a Delta table has no control characters, "
                "brackets, backslashes or percent signs in its path; use another name"
            )
        self.is_address = _ADDRESS.match(text) is not None
        self.place = text.rstrip("/") if self.is_address else str(Path(text))
        self._what = f"{what}, schema {SCHEMA_VERSION}"
        self._options = _OPTIONS if self.is_address else None

    @cached_property
    def _files(self) -> Any:
        return DeltaStorageHandler(self.place, self._options)

    def exists(self) -> bool:
        """Whether there is a table; a folder with something else in it is refused."""
        folder = None if self.is_address else Path(self.place)
        if folder is not None and folder.exists() and not folder.is_dir():
            raise StoreError(f"the store {self.place!r} cannot be read: it is no folder")
        with self._told("read"):
            if DeltaTable.is_deltatable(self.place, self._options):
                return True
            if folder is None:
                _ = self._files  # or why there is no such place
        if folder is not None and folder.exists():
            others = [each.name for each in folder.iterdir() if each.name != "_delta_log"]
            if others:
                raise StoreError(
                    f"{self.place!r} has files and is no store, so nothing is changed there; use "
                    "an empty folder"
                )
        return False

    def paths(self) -> list[str]:
        """The files that the rows are in, in the order of their names."""
        table = self._table()
        with self._told("read"):
            return sorted(_paths_of(table))

    def read(
        self, path: str, columns: Sequence[str] | None, types: Callable[[Sequence[str]], pa.Schema]
    ) -> pa.Table:
        """The rows of one file. Files never change, and one that is gone was replaced by another.

        A query engine would be shorter, and one flipped byte of a file can end its process.

        Args:
            path: one of `paths`.
            columns: their names; None for all. Those that the file does not have are left out.
            types: from the columns of the file to types. Others have those that they have there.
        """
        with self._told("read", path):
            content = pa.py_buffer(self._content(unquote(path)))
            limits: dict[str, Any] = {
                "thrift_string_size_limit": len(content),
                "thrift_container_size_limit": 10**6,
                "arrow_extensions_enabled": False,
            }
            file = pq.ParquetFile(pa.BufferReader(content), **limits)
            if file.metadata.num_rows > _MOST_ROWS:
                raise ValueError(f"it has {file.metadata.num_rows} rows")
            there = file.schema_arrow.names
            schema = types(there)
            texts = [field.name for field in schema if pa.types.is_dictionary(field.type)]
            file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts, **limits)
            names = there if columns is None else [name for name in columns if name in there]
            # Threads of Arrow that are still there at the end of the program can abort it.
            rows = file.read([*dict.fromkeys(names)], use_threads=False)
            rows.validate(full=True)
            return rows.cast(pa.schema([_as_wanted(field, schema) for field in rows.schema]))

    def _content(self, path: str) -> bytes:
        if self.is_address:
            return bytes(self._files.open_input_file(path).read())
        with open_regular(Path(self.place) / path) as file:
            return file.read()

    def make(self, schema: pa.Schema) -> None:
        """Make the table if there is none, or say why it cannot be written to."""
        with self._told("written to"):
            if not self.exists():
                DeltaTable.create(
                    self.place,
                    schema,
                    mode="ignore",
                    name=_NAME,
                    description=self._what,
                    storage_options=self._options,
                )
            if not self.is_address and not os.access(Path(self.place) / "_delta_log", os.W_OK):
                raise StoreError(f"the store {self.place!r} cannot be written to: it is read-only")
        self._table()

    def append(self, rows: pa.Table) -> None:
        """Add rows, and columns that are new, to a table; they are safe when this returns."""
        for number in range(_TRIES):
            try:
                with self._told("written to", passed_on=(CommitFailedError,)):
                    write_deltalake(
                        self._table(),
                        rows,
                        mode="append",
                        schema_mode="merge",
                        writer_properties=WriterProperties(compression="ZSTD"),
                    )
                    return
            except CommitFailedError as error:
                if number + 1 == _TRIES:
                    raise StoreError(
                        f"the store {self.place!r} cannot be written to: others changed it at "
                        f"{_TRIES} tries ({printable(str(error))[:200]})"
                    ) from None
                time.sleep(random.uniform(0, 0.02 * (number + 1)))

    def remove(self, path: str) -> None:
        """Remove a file that cannot be read, and its rows."""
        with self._told("written to", path):
            if self.is_address:
                self._files.delete_file(unquote(path))
            else:
                (Path(self.place) / unquote(path)).unlink()
        self._again(lambda table: table.repair())

    def delete(self, where: str) -> None:
        """Remove rows by a condition of SQL."""
        self._again(lambda table: table.delete(where))

    def compact(self) -> None:
        """Put small files together, and remove those that were replaced more than a week ago."""
        self._again(lambda table: table.optimize.compact())
        self._again(lambda table: table.vacuum(dry_run=False))

    def compact_for_now(self) -> None:
        """Put small files together, unless another does it at the same time."""
        with (
            suppress(CommitFailedError),
            self._told("written to", passed_on=(CommitFailedError,)),
        ):
            self._table().optimize.compact()

    def _again(self, change: Callable[[DeltaTable], object]) -> None:
        """Change the table, and once more if others have changed it meanwhile."""
        for number in range(_TRIES):
            try:
                with self._told("written to", passed_on=(CommitFailedError,)):
                    change(self._table())
                    return
            except CommitFailedError as error:
                if number + 1 == _TRIES:
                    why = printable(str(error))[:200]
                    raise StoreError(
                        f"the store {self.place!r} cannot be written to: {why}"
                    ) from None

    def _table(self) -> DeltaTable:
        """The table as it is now, if it is one of ours and has no files elsewhere."""
        with self._told("read"):
            try:
                table = DeltaTable(self.place, storage_options=self._options)
            except TableNotFoundError:
                raise StoreError(f"there is no store at {self.place!r}") from None
            about, protocol = table.metadata(), table.protocol()
            if about.name != _NAME or about.description != self._what:
                raise StoreError(
                    f"the table {self.place!r} is {printable(repr(about.name))}, "
                    f"{printable(repr(about.description))}, and this version reads {_NAME!r}, "
                    f"{self._what!r}; use another folder, and run again what it is about"
                )
            if protocol.min_reader_version != 1:
                raise StoreError(
                    f"the store {self.place!r} needs version {protocol.min_reader_version} of the "
                    "Delta protocol; this reads version 1"
                )
            paths = _paths_of(table)
        for path in paths:
            if not _INSIDE.fullmatch(path):
                raise StoreError(
                    f"the log of {self.place!r} names a file outside of it, {path!r:.100}; "
                    "somebody has changed it"
                )
        return table

    @contextmanager
    def _told(
        self, done: str, file: str = "", passed_on: tuple[type[BaseException], ...] = ()
    ) -> Iterator[None]:
        """Errors of the libraries, as a sentence about the store or one of its files."""
        what = f"the store {self.place!r}" if not file else f"{file!r} of the store {self.place!r}"
        try:
            yield
        except passed_on:
            raise
        except (DeltaError, OSError, ValueError, pa.ArrowException) as error:
            if isinstance(error, StoreError):
                raise
            plain = _COLOUR.sub("", " ".join(str(error).split()))
            why = printable(plain) or type(error).__name__
            raise StoreError(f"{what} cannot be {done}: {why[:300]}") from None
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # of Rust, for a log that makes no sense
                raise
            raise StoreError(f"{what} cannot be {done}: its log is damaged") from None


def _paths_of(table: DeltaTable) -> list[str]:
    # As a stream: to make a table of it, Arrow would load pandas.
    actions = pa.RecordBatchReader.from_stream(table.get_add_actions()).read_all()
    found: list[str] = actions["path"].cast(pa.string()).to_pylist()
    return found


def _as_wanted(field: pa.Field, schema: pa.Schema) -> pa.Field:
    """A field with the type of a schema, or of another column without a view of Arrow."""
    kind = schema.field(field.name).type if field.name in schema.names else field.type
    views = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return field.with_type(views.get(kind, kind))
