"""Records on disk: immutable Parquet shards, each named by the hash of its content.

A shard appears whole or not at all, and a shard that was damaged later does not match its name. One
process at a time writes, under a lock; anybody may read at any time. A file next to the shards
marks the folder as a store: without it nothing is ever changed there.
"""

from __future__ import annotations

import json
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from recallscope.common.csv_files import check_output
from recallscope.common.extras import missing
from recallscope.common.formatting import printable
from recallscope.common.new_files import written_next_to
from recallscope.models.embeddings import Embeddings
from recallscope.parts.long_values import known_among
from recallscope.problem import SCHEMA_VERSION, ProblemError
from recallscope.record import Record
from recallscope.store.arrays import copy_arrays, is_arrays_file, keep_arrays, read_arrays
from recallscope.store.files import Files, NotAFileError, ReadOnlyError, StoreError, StoreWarning
from recallscope.store.long_values import is_value_file, keep_values, read_values
from recallscope.store.object_store import files_at

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv
    import pyarrow.parquet as pq
except ImportError:
    raise ProblemError(missing("pyarrow")) from None

from recallscope.store.check import StoreCheck as StoreCheck
from recallscope.store.check import check_shards, right_keys
from recallscope.store.index import INDEXED, RecordIndex
from recallscope.store.merging import compare
from recallscope.store.replaced import disown_false_replacements, in_force
from recallscope.store.schema import KEY, KeyedRecord, to_records, to_table
from recallscope.store.shard import (
    BadShardError,
    Shard,
    is_shard_name,
    other_schema,
    read_shard,
    write_shard,
)
from recallscope.store.tables import chosen, for_spreadsheets, joined, once, texts_of

MARKER = "recallscope-store.json"
_SET_ASIDE = ".corrupt"  # at the end of the name of a shard that `repair` has put aside
_MOST_SMALL = 256  # shards, before they are made into one
_LARGE = 2**19  # rows: such a shard is left alone
_LARGE_BYTES = 2**26  # of a table: so is such a one
_MOST_MARKER = 2**16  # bytes
_TRIES = 5  # to read what a compaction is just replacing


class Merged(NamedTuple):
    """The counts of a merge, of all records that the other store has."""

    added: int
    better: int
    """Ok there and not ok here: to be dropped here first if the other's is wanted."""
    completed: int
    """Records of cells that are here too, which brought metrics that were missing here."""
    conflicts: int
    """Records of cells that are here too, with other values: one of the two is wrong."""


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
    ...     print(found.ran, again.ran, [record.problem.dim for record in Store(folder).records()])
    2 0 [16, 32]
    """

    def __init__(self, place: str | Path) -> None:
        self.files: Files = files_at(place)
        self._small: set[str] = set()
        self._check_lock: Callable[[], None] | None = None

    @property
    def place(self) -> str:
        """Where it is."""
        return self.files.place

    # Reading: no lock is needed, as shards never change.

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All records as one Arrow table, or some columns of it."""
        table = joined([shard.table for shard in self.read(columns)], columns)
        for name in columns or ():
            if name not in table.column_names:
                raise StoreError(f"the store {self.place!r} has no column {name!r:.60}")
        return table

    def records(self) -> Iterator[Record]:
        """All records, one after another."""
        read_values(self.files)
        for shard in self.read():
            yield from to_records(shard.table)

    def statuses(self) -> dict[bytes, str]:
        """The status of every record, by its key."""
        return self.index().statuses

    def index(self) -> RecordIndex:
        """Which cells there are records of."""
        return RecordIndex(shard.table for shard in self.read(INDEXED))

    def by_status(self) -> dict[str, int]:
        """How many records there are of each status."""
        return dict(sorted(Counter(texts_of(self.table(["status"])["status"])).items()))

    def verify(self) -> StoreCheck:
        """Read everything and check it."""
        found, left_out = self._scan()
        others = [name for name in self.files.names() if not is_shard_name(name)]
        aside = [name for name in others if is_shard_name(name.split(_SET_ASIDE)[0])]
        known = {MARKER, *aside}
        return replace(
            check_shards(in_force(found)[0]),
            left_out=left_out,
            set_aside=aside,
            strange=[name for name in others if name not in known and not _is_value(name)],
            marked=MARKER in others,
            bad_marker=self._bad_marker() if MARKER in others else "",
        )

    def export(self, path: str | Path) -> int:
        """Write all records to one .csv or .parquet file; how many there were."""
        path = check_output(path, "table", (".csv", ".parquet"))
        table = joined([shard.table for shard in self.read()])
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
        return read_arrays(self.files, name)

    # Writing.

    def keep_embeddings(self, arrays: Embeddings) -> None:
        """Keep arrays that records name by their content, unless they are too large for a file."""
        self._do(keep_arrays, self.files, arrays)

    @contextmanager
    def writing(self) -> Iterator[RecordIndex]:
        """Hold the lock; gives the index of all records, for the writer to keep up.

        Shards that a compaction had replaced when a crash came are removed first. Those that cannot
        be used stay where they are and are reported, and their cells count as not run.
        """
        self._check_marker()
        with self.files.lock() as self._check_lock:
            try:
                self._check_marker(write=True)
                shards, left_out = self._scan(INDEXED)
                self._tell(left_out)
                counting, replaced = in_force(shards)
                for name in sorted(replaced & {shard.name for shard in shards}):
                    self._do(self.files.remove, name)
                self._small = {shard.name for shard in counting if shard.table.num_rows < _LARGE}
                yield RecordIndex(shard.table for shard in counting)
            finally:
                self._check_lock = None

    @contextmanager
    def writing_if_allowed(self) -> Iterator[tuple[RecordIndex, ReadOnlyError | None]]:
        """Like `writing`, but an index with a reason if the store cannot be written to."""
        with ExitStack() as stack:
            try:
                index, refusal = stack.enter_context(self.writing()), None
            except ReadOnlyError as error:
                index, refusal = self.index(), error
            yield index, refusal

    def repair(self) -> list[str]:
        """Put shards that cannot be used aside under other names, and doubled records together.

        A record under the key of another gets its own.

        Returns the names of the shards. Their cells are run again by the sweep that ran them.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StoreWarning)  # they are what it is about
            with self.writing():
                shards, left_out = self._scan(["key", "status"])
                for name in left_out:
                    aside = f"{name}{_SET_ASIDE}-{uuid.uuid4().hex[:8]}"
                    self._do(self.files.rename, name, aside)
                counting = [self._under_right_keys(shard.name) for shard in in_force(shards)[0]]
                keys = joined([self._shard(name).table.select(["key"]) for name in counting])
                if keys.num_rows > len(pc.unique(keys["key"])):
                    self._join(counting)
        return sorted(left_out)

    def _under_right_keys(self, name: str) -> str:
        """The name of the shard, or of the one that was put in its place."""
        table = self._shard(name).table
        right = pa.array(right_keys(table), KEY)
        if right == table["key"].combine_chunks():
            return name
        at = table.column_names.index("key")
        return self._put([once(table.set_column(at, table.schema.field("key"), right))], [name])

    def append(self, kept: Sequence[KeyedRecord]) -> None:
        """Add records; they are safe when this returns."""
        if not kept:
            return
        used = (value for each in kept for _, value in each.record.problem.declared)
        self._do(keep_values, self.files, known_among(used))
        table = to_table(kept)
        pieces = 1 + int(table.nbytes // _LARGE_BYTES)
        for first in range(0, len(kept), length := -(-len(kept) // pieces)):
            self._write(table.slice(first, length), frozenset())
        if len(self._small) > _MOST_SMALL:
            self._join(self._small)

    def compact(self, drop: Sequence[str] = ()) -> tuple[int, int]:
        """Make few large shards of many small ones, without records of the statuses to drop.

        Returns the numbers of shards before and after.
        """
        self._shard_names()  # there must be a store
        with self.writing():
            before = len(self._shard_names())
            if drop:
                self._join(self._shard_names(), drop)
            elif len(self._small) > 1:
                self._join(self._small)
            return before, len(self._shard_names())

    def replace(self, kept: Sequence[KeyedRecord]) -> None:
        """Put records in the place of those that have their keys; they are safe when it returns."""
        new = {each.key: each for each in kept}
        for name in self._shard_names() if new else ():
            try:
                table = self._shard(name).table
            except (BadShardError, FileNotFoundError):
                continue  # it stays where it is
            here = [key for key in table["key"].to_pylist() if key in new]
            if here:
                rest = table.filter(pc.invert(pc.is_in(table["key"], pa.array(here, KEY))))
                self._put([rest, to_table([new[key] for key in here])], [name])

    def merge(self, other: Store) -> Merged:
        """Add all records of another store that are not here; what is here stays.

        A record of a cell that is there with more metrics brings them along.
        """
        theirs = [shard.table for shard in other.read()]
        with self.writing():
            found = compare(joined([shard.table for shard in self.read()]), theirs)
            for table in found.new:
                if table.num_rows:
                    self._write(table, frozenset())
            self.replace(found.completed)
            self._do(copy_arrays, other.files, self.files)
            self._do(keep_values, self.files, read_values(other.files))
        return Merged(
            added=sum(table.num_rows for table in found.new),
            better=found.better,
            completed=len(found.completed),
            conflicts=found.conflicts,
        )

    def _join(self, names: Iterable[str], drop: Sequence[str] = ()) -> None:
        """Put shards together, a set of whole shards at a time.

        A new shard names those it replaces: from the moment it appears they no longer count. No
        crash between the writing and the removing doubles or loses a record.
        """
        names = list(names)
        while names:
            tables: list[pa.Table] = []
            whole: list[str] = []
            while names and not _is_large(tables):
                name = names.pop()
                try:
                    tables.append(self._shard(name).table)
                except (BadShardError, FileNotFoundError):
                    self._small.discard(name)  # it stays where it is
                else:
                    whole.append(name)
            table = once(joined(tables))
            for status in drop:
                table = table.filter(pc.not_equal(table["status"].cast(pa.string()), status))
            if len(whole) < 2 and table.num_rows == sum(table.num_rows for table in tables):
                continue
            new = self._put([table], whole)
            if not table.num_rows:
                self._do(self.files.remove, new)
                self._small.discard(new)

    def _put(self, tables: list[pa.Table], whole: Sequence[str]) -> str:
        """Write a shard that has all of some others, and remove these."""
        new = self._write(joined(tables), frozenset(whole))
        for name in whole:
            self._do(self.files.remove, name)
            self._small.discard(name)
        return new

    def _write(self, table: pa.Table, replaces: frozenset[str]) -> str:
        if self._check_lock is None:
            raise RuntimeError("a store is written to inside of writing() only")
        self._check_lock()
        name, content = write_shard(table, replaces)
        self._do(self.files.write, name, content)
        if table.num_rows < _LARGE:
            self._small.add(name)
        return name

    def _do(self, change: Callable[..., None], *arguments: object) -> None:
        try:
            change(*arguments)
        except OSError as error:
            raise StoreError(
                f"the store {self.place!r} cannot be written to: {error.strerror or error}"
            ) from None

    def _shard_names(self) -> list[str]:
        try:
            names = self.files.names()
        except FileNotFoundError:
            raise StoreError(f"there is no store at {self.place!r}") from None
        except OSError as error:
            raise StoreError(f"the store {self.place!r} cannot be read: {error}") from None
        return [name for name in names if is_shard_name(name)]

    def read(self, columns: Sequence[str] | None = None) -> list[Shard]:
        """All shards that count; a warning names those that cannot be used."""
        shards, left_out = self._scan(columns)
        self._tell(left_out)
        return in_force(shards)[0]

    def _scan(self, columns: Sequence[str] | None = None) -> tuple[list[Shard], dict[str, str]]:
        """All shards that are there, and why others cannot be used, by their names."""
        if not self.files.exists():
            raise StoreError(f"there is no store at {self.place!r}")
        shards: dict[str, Shard] = {}
        left_out: dict[str, str] = {}
        for turn in range(_TRIES):
            # Listed once more at the least: a listing made while a compaction puts a new shard for
            # old ones may have neither.
            fresh = set(self._shard_names()) - set(shards) - set(left_out)
            if turn and not fresh:
                break
            for name in sorted(fresh):
                try:
                    shard = self._shard(name)
                except BadShardError as error:
                    left_out[name] = printable(str(error))  # it may quote what was found there
                except FileNotFoundError:
                    continue  # what replaces it is in the next listing
                else:
                    shards[name] = _narrow(shard, columns and ["key", "status", *columns])
        disown_false_replacements(shards, left_out)
        return [_narrow(shard, columns) for shard in shards.values()], left_out

    def _tell(self, left_out: dict[str, str]) -> None:
        if left_out:
            name, why = next(iter(sorted(left_out.items())))
            more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
            warnings.warn(
                f"the store {self.place!r} has shards that cannot be used and are left out: {name} "
                f"({why}){more}; see recallscope records verify, and repair",
                StoreWarning,
                stacklevel=3,
            )

    def _shard(self, name: str) -> Shard:
        try:
            return read_shard(name, self.files.read(name))
        except NotAFileError as error:
            raise BadShardError(str(error)) from None
        except FileNotFoundError:
            raise
        except (OSError, StoreError) as error:
            why = getattr(error, "strerror", None) or error
            raise StoreError(f"the store {self.place!r} cannot be read: {why}") from None

    def _bad_marker(self) -> str:
        try:
            self._check_marker()
        except StoreError as error:
            return str(error)
        return ""

    def _check_marker(self, *, write: bool = False) -> None:
        """Raise if this is not marked as a store, and is not a new place either.

        Nothing is written before this check, not even a lock.
        """
        names = self.files.names() if self.files.exists() else []
        if MARKER in names:
            try:
                number = json.loads(self.files.read(MARKER, _MOST_MARKER))["schema"]
            except (NotAFileError, OSError, ValueError, TypeError, KeyError, RecursionError):
                number = None
            if number != SCHEMA_VERSION:
                raise StoreError(other_schema(f"the store {self.place!r} is", number))
        elif names:
            raise StoreError(
                f"{self.place!r} is not marked as a store, so nothing is changed there; use "
                "an empty folder"
            )
        elif write:
            self._do(self.files.write, MARKER, _marker())


def _narrow(shard: Shard, columns: Sequence[str] | None) -> Shard:
    return shard if columns is None else shard._replace(table=chosen(shard.table, columns))


def _is_large(tables: list[pa.Table]) -> bool:
    rows, size = sum(table.num_rows for table in tables), sum(table.nbytes for table in tables)
    return bool(rows >= _LARGE or size >= _LARGE_BYTES)


def _marker() -> bytes:
    return json.dumps({"what": "a store of recallscope", "schema": SCHEMA_VERSION}).encode() + b"\n"


def _is_value(name: str) -> bool:
    """Whether a file has what records name by its content."""
    return is_arrays_file(name) or is_value_file(name)
