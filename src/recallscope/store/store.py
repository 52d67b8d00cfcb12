"""Records on disk: immutable Parquet shards, each named by the hash of its content.

A shard appears whole or not at all, and a shard that was damaged later does not match its name. One
process at a time writes, under a lock; anybody may read at any time.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from recallscope.cell import Settings
from recallscope.common.csv_files import check_output
from recallscope.problem import SCHEMA_VERSION, ProblemError
from recallscope.record import Record, Status
from recallscope.store.files import Files, StoreError, files_at
from recallscope.store.keys import key_maker

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv
    import pyarrow.parquet as pq
except ImportError:
    raise ProblemError("stores need pyarrow: pip install 'recallscope[sweep]'") from None

from recallscope.store.schema import SCHEMA, KeyedRecord, plain, to_records, to_table

_FORMAT = 1
_NAME = re.compile(r"[0-9a-f]{32}\.parquet")
_MOST_SMALL = 256  # shards, before they are made into one
_LARGE = 2**19  # rows: such a shard is left alone
_TRIES = 5  # to read what a compaction is just replacing


class Shard(NamedTuple):
    """A shard that is as it was written."""

    name: str
    table: pa.Table
    replaces: frozenset[str]


@dataclass(frozen=True)
class StoreCheck:
    """What `verify` found: shards and records, and all that is not as it should be."""

    shards: int
    records: int
    by_status: dict[str, int]
    corrupt: list[str] = field(default_factory=list)
    duplicated: int = 0
    wrong_keys: int = 0
    strange: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing is corrupt, duplicated or under a key that is not its own."""
        return not (self.corrupt or self.duplicated or self.wrong_keys)


class Store:
    """Records in a folder, or under an address of an object store such as s3://bucket/folder.

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
        self.set_aside: list[str] = []  # shards found corrupt when the store was opened for writing
        self._small: set[str] = set()
        self._check_lock: Callable[[], None] | None = None

    @property
    def place(self) -> str:
        """Where it is."""
        return self.files.place

    # Reading: no lock is needed, as shards never change.

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All records as one Arrow table, or some columns of it."""
        return joined([shard.table for shard in self.read(columns)[0]], columns)

    def records(self) -> Iterator[Record]:
        """All records, one after another."""
        shards, _ = self.read()
        for shard in shards:
            yield from to_records(shard.table)

    def statuses(self) -> dict[bytes, str]:
        """The status of every record, by the key of its cell."""
        return _statuses(self.read(["key", "status"])[0])

    def by_status(self) -> dict[str, int]:
        """How many records there are of each status."""
        return dict(sorted(Counter(_texts(self.table(["status"])["status"])).items()))

    def verify(self) -> StoreCheck:
        """Read everything and check it."""
        shards, corrupt = self.read()
        keys, statuses = Counter[bytes](), Counter[str]()
        makers: dict[Settings, Callable[..., bytes]] = {}
        wrong = 0
        for shard in shards:
            found = shard.table["key"].to_pylist()
            keys.update(found)
            statuses.update(_texts(shard.table["status"]))
            for key, record in zip(found, to_records(shard.table), strict=True):
                tested = record.test_samples is not None
                current = record.provenance.schema == SCHEMA_VERSION
                wrong += tested and current and key != _key_of(record, makers)
        strange = [name for name in self.files.names() if not _NAME.fullmatch(name)]
        return StoreCheck(
            shards=len(shards),
            records=keys.total(),
            by_status=dict(sorted(statuses.items())),
            corrupt=corrupt,
            duplicated=keys.total() - len(keys),
            wrong_keys=wrong,
            strange=strange,
        )

    def export(self, path: str | Path) -> int:
        """Write all records to one .csv or .parquet file; how many there were."""
        path = check_output(path, "table", (".csv", ".parquet"))
        table = joined([shard.table for shard in self._whole()])
        if path.suffix.lower() == ".csv":
            hexadecimal = [key.hex() for key in table["key"].to_pylist()]
            table = table.set_column(0, "key", pa.array(hexadecimal, pa.string()))
        part = path.with_name(f".{path.name}.part")
        try:
            if path.suffix.lower() == ".csv":
                pyarrow.csv.write_csv(plain(table), part)
            else:
                pq.write_table(table, part, compression="zstd")
            part.replace(path)
        except OSError as error:
            raise StoreError(f"the table was not written: {error}") from None
        finally:
            part.unlink(missing_ok=True)
        return int(table.num_rows)

    # Writing.

    @contextmanager
    def writing(self) -> Iterator[dict[bytes, str]]:
        """Hold the lock; gives the statuses of all records, by key, for the writer to keep up.

        What a crash left behind is put right first: shards that a compaction had replaced are
        removed, and corrupt ones are set aside, so that their cells are run again.
        """
        with self.files.lock() as self._check_lock:
            try:
                shards, corrupt = self.read(["key", "status"])
                for name in corrupt:
                    self._do(self.files.rename, name, f"{name}.corrupt")
                present = {shard.name for shard in shards}
                for name in self._shard_names():
                    if name not in present and name not in corrupt:
                        self._do(self.files.remove, name)
                self._small = {shard.name for shard in shards if shard.table.num_rows < _LARGE}
                self.set_aside = corrupt
                yield _statuses(shards)
            finally:
                self._check_lock = None

    def append(self, kept: Sequence[KeyedRecord]) -> None:
        """Add records, all or none; they are safe when this returns."""
        if not kept:
            return
        self._write(to_table(kept), frozenset())
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

    def merge(self, other: Store) -> tuple[int, int]:
        """Add all records of another store that are not here.

        Returns how many were added, and how many are ok there and not ok here: what is here stays,
        and is to be dropped first if the other's is wanted.
        """
        added = better = 0
        shards = other._whole()
        with self.writing() as statuses:
            for shard in shards:
                fresh = []
                keys, theirs = shard.table["key"].to_pylist(), _texts(shard.table["status"])
                for key, status in zip(keys, theirs, strict=True):
                    ours = statuses.setdefault(key, "new")
                    fresh.append(ours == "new")
                    better += status == Status.OK and ours not in (Status.OK, "new", "taken")
                    if ours == "new":
                        statuses[key] = "taken"
                table = shard.table.filter(pa.array(fresh, pa.bool_()))
                if table.num_rows:
                    self._write(table, frozenset())
                    added += table.num_rows
        return added, better

    def _join(self, names: Iterable[str], drop: Sequence[str] = ()) -> None:
        """Put shards together, a set of whole shards at a time.

        A new shard names those it replaces: from the moment it appears they no longer count, so
        that no crash between the writing and the removing doubles or loses a record.
        """
        names = list(names)
        while names:
            tables: list[pa.Table] = []
            whole: list[str] = []
            while names and sum(table.num_rows for table in tables) < _LARGE:
                name = names.pop()
                try:
                    tables.append(self._shard(name, None).table)
                except (_CorruptError, FileNotFoundError):
                    self._small.discard(name)  # left for whoever opens the store next
                else:
                    whole.append(name)
            table = joined(tables)
            for status in drop:
                table = table.filter(pc.not_equal(table["status"].cast(pa.string()), status))
            if len(whole) < 2 and table.num_rows == sum(each.num_rows for each in tables):
                continue
            new = self._write(table, frozenset(whole))
            for name in whole:
                self._do(self.files.remove, name)
                self._small.discard(name)
            if not table.num_rows:
                self._do(self.files.remove, new)
                self._small.discard(new)

    def _write(self, table: pa.Table, replaces: frozenset[str]) -> str:
        if self._check_lock is None:
            raise RuntimeError("a store is written to inside of writing() only")
        self._check_lock()
        about = {"format": _FORMAT, "nonce": uuid.uuid4().hex, "replaces": sorted(replaces)}
        schema = SCHEMA.with_metadata({"recallscope": json.dumps(about)})
        buffer = io.BytesIO()
        pq.write_table(table.cast(schema), buffer, compression="zstd")
        content = buffer.getvalue()
        name = f"{_hash(content)}.parquet"
        self._do(self.files.write, name, content)
        if table.num_rows < _LARGE:
            self._small.add(name)
        return name

    def _do(self, change: Callable[..., None], *arguments: str | bytes) -> None:
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
        return [name for name in names if _NAME.fullmatch(name)]

    def read(self, columns: Sequence[str] | None = None) -> tuple[list[Shard], list[str]]:
        """All shards that count, and the names of corrupt ones."""
        if not self.files.exists():
            raise StoreError(f"there is no store at {self.place!r}")
        shards: dict[str, Shard] = {}
        corrupt: list[str] = []
        for turn in range(_TRIES):
            # Listed once more at the least: a listing made while a compaction puts a new shard for
            # old ones may have neither.
            fresh = set(self._shard_names()) - set(shards) - set(corrupt)
            if turn and not fresh:
                break
            for name in sorted(fresh):
                try:
                    shards[name] = self._shard(name, columns)
                except _CorruptError:
                    corrupt.append(name)
                except FileNotFoundError:
                    continue  # what replaces it is in the next listing
        replaced = frozenset[str]().union(*(shard.replaces for shard in shards.values()))
        return [shard for name, shard in shards.items() if name not in replaced], corrupt

    def _whole(self) -> list[Shard]:
        """All shards, none of which may be corrupt."""
        shards, corrupt = self.read()
        if corrupt:
            raise StoreError(
                f"the store {self.place!r} has {len(corrupt)} corrupt shards, whose records would "
                "be left out; run its sweep again, which repairs it, or remove them"
            )
        return shards

    def _shard(self, name: str, columns: Sequence[str] | None) -> Shard:
        try:
            content = self.files.read(name)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StoreError(f"the store {self.place!r} cannot be read: {error}") from None
        if name != f"{_hash(content)}.parquet":
            raise _CorruptError(name)
        try:
            file = pq.ParquetFile(pa.BufferReader(content))
            about = json.loads(file.schema_arrow.metadata[b"recallscope"])
            replaces = frozenset(map(str, about["replaces"]))
            ours = about["format"] != _FORMAT or file.schema_arrow.equals(SCHEMA)
        except (pa.ArrowException, KeyError, TypeError, ValueError):
            ours = False
        if not ours:
            raise _CorruptError(name)  # whole, and still not a shard
        if about["format"] != _FORMAT:
            raise StoreError(
                f"the store {self.place!r} has shards of format {about['format']}, and this "
                f"version reads format {_FORMAT}; use the version that wrote them"
            )
        # Threads of Arrow that are still there at the end of the program can abort it.
        return Shard(name, file.read(columns, use_threads=False), replaces)


class _CorruptError(Exception):
    pass


def joined(tables: list[pa.Table], columns: Sequence[str] | None = None) -> pa.Table:
    """One table of many, or an empty one of none."""
    if not tables:
        chosen = SCHEMA.names if columns is None else columns
        return pa.schema([SCHEMA.field(name) for name in chosen]).empty_table()
    return pa.concat_tables(tables).unify_dictionaries()


def _key_of(record: Record, makers: dict[Settings, Callable[..., bytes]]) -> bytes:
    """The key under which a record that was tested belongs."""
    made = record.provenance
    settings = Settings(
        engine=made.engine if made.engine in ("stream", "counts") else "auto",
        dtype=made.dtype,
        test_samples=record.test_samples or 0,
        device=made.device,
    )
    if settings not in makers:
        makers[settings] = key_maker(settings)
    return makers[settings]((record.problem, record.seed))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _statuses(shards: list[Shard]) -> dict[bytes, str]:
    statuses: dict[bytes, str] = {}
    for _, table, _ in shards:
        statuses.update(zip(table["key"].to_pylist(), _texts(table["status"]), strict=True))
    return statuses


def _texts(column: pa.ChunkedArray) -> list[str]:
    """A column of few different texts, each of which is kept once."""
    texts: list[str] = []
    for chunk in column.chunks:
        names = chunk.dictionary.to_pylist()
        texts.extend(names[index] for index in chunk.indices.to_pylist())
    return texts
