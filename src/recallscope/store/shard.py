"""One shard: a Parquet file named by the hash of its bytes, and read with suspicion.

The schema comes first: it says if the rest can be understood. A column that is missing is null, and
one that is not known is kept. Sizes are checked before anything is allocated, and rows before
anything is made of them. A shard can have the bytes that were written and still content that nobody
could have measured: then it alone is left out.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import uuid
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from recallscope.parts.field import ACTED_ON, LONGEST_TEXT
from recallscope.problem import LARGEST_SEED, LARGEST_SIZE, SCHEMA_VERSION, ProblemError, shown
from recallscope.record import ACCURACIES, Status
from recallscope.store import schema
from recallscope.store.files import StoreError
from recallscope.store.footer import column_sizes
from recallscope.store.tables import different_rows, distinct_texts, keys_in

_NAME = re.compile(r"[0-9a-f]{32}\.parquet")
_NEEDED = ("key", "seed", "status", "vocab", "samples", "dim", "length")
_MOST_ROWS = 2**21
_MOST_VALUES = 2**27  # in all columns: a gibibyte of numbers
_MOST_COLUMNS = 2000
_MOST_TEXT = 2**28  # bytes of all texts of a column, were each written out


class Shard(NamedTuple):
    """A shard that is as it was written, with all columns of the schema."""

    name: str
    table: pa.Table
    replaces: frozenset[str]


class BadShardError(Exception):
    """A shard that cannot be used; the message says why."""


def is_shard_name(name: str) -> bool:
    """Whether a file of this name is taken for a shard."""
    return _NAME.fullmatch(name) is not None


def write_shard(table: pa.Table, replaces: frozenset[str]) -> tuple[str, bytes]:
    """The name and the bytes of a new shard, which replaces others from the moment it is there."""
    about = {"schema": SCHEMA_VERSION, "nonce": uuid.uuid4().hex, "replaces": sorted(replaces)}
    buffer = io.BytesIO()
    described = table.replace_schema_metadata({"recallscope": json.dumps(about)})
    pq.write_table(described, buffer, compression="zstd")
    content = buffer.getvalue()
    return _name_of(content), content


def read_shard(name: str, content: bytes) -> Shard:
    """The shard of these bytes, or `BadShardError`; `StoreError` if it is of another schema."""
    if name != _name_of(content):
        raise BadShardError("corrupt: its bytes do not match its name")
    try:
        file = pq.ParquetFile(
            pa.BufferReader(content),
            thrift_string_size_limit=len(content),
            thrift_container_size_limit=10**6,
            arrow_extensions_enabled=False,
        )
        replaces = _about(file)
        _check_sizes(file.metadata, content)
        _check_keys(file)
        table = _read(content, file.schema_arrow)
        table.validate(full=True)
        table = _completed(table)
        _check_rows(table)
    except (BadShardError, StoreError):
        raise
    # Arrow has many exceptions for a file that is not what it seems.
    except Exception as error:
        why = " ".join(str(error).split())[:100]
        raise BadShardError(f"not a shard: {type(error).__name__}: {why}") from None
    return Shard(name, table, replaces)


def _name_of(content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()[:32]}.parquet"


def other_schema(what: str, number: object) -> str:
    """The sentence on records that were written under another schema."""
    other = "an unknown schema" if number is None else f"schema {shown(number)}"
    return (
        f"{what} of {other}, and this version of recallscope has schema {SCHEMA_VERSION}; use the "
        "version that wrote it, or run again into another store"
    )


def _about(file: pq.ParquetFile) -> frozenset[str]:
    """Return the shards that it replaces, once its format is known to be one that is read here."""
    text = (file.schema_arrow.metadata or {}).get(b"recallscope")
    if text is None:
        raise BadShardError("not a shard: a Parquet file of something else")
    try:
        about = json.loads(text)
    except (ValueError, RecursionError):
        raise BadShardError("not a shard: its metadata cannot be read") from None
    if not isinstance(about, dict):
        raise BadShardError("not a shard: its metadata cannot be read")
    if about.get("schema") != SCHEMA_VERSION:
        raise StoreError(other_schema("there are shards", about.get("schema")))
    replaces = about.get("replaces")
    if not isinstance(replaces, list) or not all(
        isinstance(name, str) and is_shard_name(name) for name in replaces
    ):
        raise BadShardError("not a shard: it does not say what it replaces")
    return frozenset(replaces)


def _check_sizes(about: pq.FileMetaData, content: bytes) -> None:
    """Raise if the file says that it is larger than any that was written here."""
    groups = [about.row_group(index) for index in range(min(about.num_row_groups, 10**4))]
    rows = sum(group.num_rows for group in groups)
    if rows != about.num_rows or any(group.num_rows < 0 for group in groups):
        raise BadShardError("not a shard: its numbers of rows do not add up")
    if about.num_columns > _MOST_COLUMNS or rows > _MOST_ROWS:
        raise BadShardError(f"too large: {rows} rows of {about.num_columns} columns")
    columns = column_sizes(content)
    values = sum(max(column.values, 0) for column in columns)
    size = sum(max(column.bytes, 0) for column in columns)
    if values > _MOST_VALUES or size > 8 * _MOST_VALUES:
        raise BadShardError(f"too large: {values} values, {size} bytes")


def _check_keys(file: pq.ParquetFile) -> None:
    """Raise unless every row has a different key, before the rest is read.

    Few bytes can stand for many rows that are alike.
    """
    if file.schema_arrow.names.count("key") != 1:
        raise BadShardError("not a shard: without a column of keys")
    column = file.read(["key"], use_threads=False)["key"]
    keys = np.sort(keys_in(column.cast(schema.KEY)), kind="stable")  # most are in order
    if column.null_count or (keys[1:] == keys[:-1]).any():
        raise BadShardError("not a shard: rows without a key, or with the same one")


def _read(content: bytes, schema: pa.Schema) -> pa.Table:
    """All of it, with texts as numbers of a dictionary: what comes often is kept once."""
    texts = [
        field.name
        for field in schema
        if pa.types.is_string(field.type) or pa.types.is_dictionary(field.type)
    ]
    file = pq.ParquetFile(
        pa.BufferReader(content), read_dictionary=texts, arrow_extensions_enabled=False
    )
    # Threads of Arrow that are still there at the end of the program can abort it.
    return file.read(use_threads=False)


def _completed(table: pa.Table) -> pa.Table:
    """With all columns of the schema in their order, null where there was none; then the others."""
    names = table.column_names
    if len(set(names)) != len(names):
        raise BadShardError("not a shard: a column is there twice")
    for name in _NEEDED:
        if name not in names:
            raise BadShardError(f"not a shard: without the column {name}")
    columns: dict[str, Any] = {}
    for field in schema.SCHEMA:
        if field.name in names:
            column = table[field.name]
            columns[field.name] = column if column.type == field.type else column.cast(field.type)
        else:
            columns[field.name] = pa.chunked_array([pa.nulls(table.num_rows, field.type)])
    others = {name: table[name] for name in names if name not in columns}
    return pa.table(columns | others)


def _check_rows(table: pa.Table) -> None:
    """Raise if a row has values that no experiment gives."""
    for name in _NEEDED:
        if table[name].null_count:
            raise BadShardError(f"not a shard: rows without {name}")
    for field in table.schema:
        if pa.types.is_dictionary(field.type):
            _check_texts(field.name, table[field.name])
    if not distinct_texts(table["status"]) <= set(Status):
        raise BadShardError("not a shard: an unknown status")
    _check_range("seed", table["seed"], 0, LARGEST_SEED)
    _check_range("test_samples", table["test_samples"], 1, LARGEST_SIZE)
    for name in ACCURACIES:
        _check_range(name, table[name], 0, 1)
    _check_named_columns(table)
    columns = [*schema.columns_of_problems(table.column_names), "part_versions", "files"]
    for row in schema.plain(different_rows(table.select(columns))).to_pylist():
        try:
            schema.problem_of(row)
            schema.versions_in(row.get("part_versions"))
            schema.files_in(row.get("files"))
        except ProblemError as error:
            raise BadShardError(f"not a shard: {error}") from None


def _check_named_columns(table: pa.Table) -> None:
    """Raise if a field of a part or a metric is not what one can be."""
    for field in table.schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if match := schema.FIELD.fullmatch(field.name):
            if kind != schema.FIELD_TYPES[match["type"]]:
                raise BadShardError(f"not a shard: a field of type {field.type}")
            if kind == pa.float64() and pc.all(pc.is_finite(table[field.name])).as_py() is False:
                raise BadShardError("not a shard: a field that is not finite")
        elif match := schema.METRIC.fullmatch(field.name):
            listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
            inner = kind.value_type if listed else kind
            if inner != pa.float64() or listed != bool(match["list"]):
                raise BadShardError(f"not a shard: a metric of type {field.type}")
            if listed and pc.list_flatten(table[field.name]).null_count:
                raise BadShardError("not a shard: a metric with nulls among its numbers")
        elif field.name.startswith(("field.", "metric.")):
            raise BadShardError("not a shard: a strange name of a field or a metric")


def _check_texts(name: str, column: pa.ChunkedArray) -> None:
    for chunk in column.chunks:
        texts = chunk.dictionary
        if not pa.types.is_string(texts.type):
            continue
        lengths = pc.binary_length(texts)
        longest = pc.max(lengths).as_py() or 0
        if longest * len(chunk) > _MOST_TEXT:  # few are so long that they must be added up
            written_out = pc.sum(pc.take(lengths, chunk.indices)).as_py() or 0
            if written_out > _MOST_TEXT:
                raise BadShardError(f"too large: the texts of {name}")
        # Only reasons are free texts, and they are shown as such.
        if schema.FIELD.fullmatch(name) or (name in schema.SCHEMA.names and name != "reason"):
            strange = pc.any(pc.match_substring_regex(texts, ACTED_ON)).as_py()
            many = name in ("metrics", "part_versions")
            most = 20 * LONGEST_TEXT if many else LONGEST_TEXT
            most = schema.LONGEST_FILES if name == "files" else most
            if strange or longest > most:
                raise BadShardError(f"not a shard: a strange text in {name}")


def _check_range(name: str, column: pa.ChunkedArray, low: float, high: float) -> None:
    ends = pc.min_max(column).as_py()  # without nulls and NaN; None if there is nothing else
    inside = ends["min"] is None or low <= ends["min"] <= ends["max"] <= high
    if not inside or (pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py()):
        raise BadShardError(f"not a shard: {name} out of its range")
