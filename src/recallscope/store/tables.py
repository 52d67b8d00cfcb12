"""Tables of records put together, and summaries of them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from recallscope.common.csv_files import FORMULA
from recallscope.record import Status
from recallscope.store.files import StoreError
from recallscope.store.schema import SCHEMA, plain


def joined(tables: list[pa.Table], columns: Sequence[str] | None = None) -> pa.Table:
    """One table of many, or an empty one of none; a column that some have not is null there."""
    if not tables:
        chosen = SCHEMA.names if columns is None else columns
        return pa.schema([SCHEMA.field(name) for name in chosen]).empty_table()
    try:
        return pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    except pa.ArrowException as error:
        raise StoreError(f"shards do not agree on the kind of a column: {error}") from None


def chosen(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Those columns that are there."""
    return table.select([name for name in dict.fromkeys(columns) if name in table.column_names])


def once(table: pa.Table) -> pa.Table:
    """Each record once: a good one rather than another, and else the first."""
    if pc.count_distinct(table["key"]).as_py() == table.num_rows:
        return table
    best: dict[bytes, tuple[bool, int]] = {}
    statuses = texts_of(table["status"])
    for row, (key, status) in enumerate(zip(table["key"].to_pylist(), statuses, strict=True)):
        best[key] = min(best.get(key, (True, row)), (status != Status.OK, row))
    return table.take(pa.array(sorted(row for _, row in best.values()), pa.int64()))


def for_spreadsheets(table: pa.Table) -> pa.Table:
    """Keys and lists as texts, and no text that a spreadsheet would take for a formula."""
    table = plain(table)
    for index, name in enumerate(table.column_names):
        column = table[name]
        if name == "key":
            column = pa.array([key.hex() for key in column.to_pylist()], pa.string())
        elif pa.types.is_string(column.type):
            column = pc.replace_substring_regex(column, FORMULA, r"'\1")
        elif pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            texts = [None if each is None else json.dumps(each) for each in column.to_pylist()]
            column = pa.array(texts, pa.string())
        table = table.set_column(index, re.sub(FORMULA, r"'\1", name), column)
    return table


def texts_of(column: pa.ChunkedArray) -> list[str]:
    """A column of few different texts without a gap; each text is stored once."""
    texts: list[str] = []
    for chunk in column.chunks:
        names = chunk.dictionary.to_pylist()
        texts.extend(map(names.__getitem__, chunk.indices.to_pylist()))
    return texts


def distinct_texts(column: pa.ChunkedArray) -> set[str]:
    """The texts of a column that may have gaps."""
    found = pc.unique(column.cast(pa.string())).to_pylist()
    return {text for text in found if text is not None}
