"""Tables of records put together, and summaries of them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from recallscope.common.csv_files import FORMULA
from recallscope.sweeps.store.delta import StoreError
from recallscope.sweeps.store.schema import SCHEMA, plain

KEYS = np.dtype("S24")
"""Of keys in an array. A single one that is taken out of it lacks zeros at its end."""


def joined(tables: list[pa.Table], columns: Sequence[str] | None = None) -> pa.Table:
    """One table of many, or an empty one of none; a column that some have not is null there."""
    if not tables:
        wanted = SCHEMA.names if columns is None else columns
        return pa.schema([f for f in SCHEMA if f.name in wanted]).empty_table()
    try:
        return pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    except pa.ArrowException as error:
        raise StoreError(f"two tables do not agree on the kind of a column: {error}") from None


def chosen(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Those columns that are there."""
    return table.select([name for name in dict.fromkeys(columns) if name in table.column_names])


def twice(keys: npt.NDArray[np.bytes_]) -> npt.NDArray[np.bool_]:
    """Whether each key is there more than once.

    >>> twice(np.array([b"a", b"b", b"a"])).tolist()
    [True, False, True]
    """
    order = keys.argsort(kind="stable")
    same = keys[order][1:] == keys[order][:-1]
    found = np.zeros(len(keys), bool)
    found[order[1:][same]] = True
    found[order[:-1][same]] = True
    return found


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


def keys_in(column: pa.ChunkedArray) -> npt.NDArray[np.bytes_]:
    """A column of keys without a gap, for NumPy, which compares them as bytes."""
    keys = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return np.ndarray(len(keys), KEYS, keys.buffers()[1], keys.offset * KEYS.itemsize)


def different_rows(table: pa.Table) -> pa.Table:
    """The first of all rows that are alike, in each piece of a table.

    Arrow can group rows as well, but loads pandas for that, which takes longer than to read them.
    """
    found = []
    for batch in table.to_batches():
        groups = np.zeros(batch.num_rows, np.int64)
        for column in batch.columns:
            if column.null_count == len(column):
                continue
            codes = _codes(column)
            if codes.any():
                groups = _codes(_for_arrow(groups * (1 + int(codes.max())) + codes))
        # The groups are numbered as they come.
        firsts = np.flatnonzero(np.diff(np.maximum.accumulate(groups), prepend=-1))
        found.append(batch.take(_for_arrow(firsts)))
    return pa.Table.from_batches(found, table.schema)


def _codes(column: pa.Array) -> npt.NDArray[Any]:
    """A number for each value, the same for equal ones."""
    values = column.indices if pa.types.is_dictionary(column.type) else column
    if values is column or values.null_count:
        values = values.dictionary_encode("encode").indices
    return np.from_dlpack(values)  # to_numpy would load pandas, too


def _for_arrow(numbers: npt.NDArray[Any]) -> pa.Array:
    """Numbers as an array of Arrow, without its look whether they are of pandas."""
    numbers = numbers.astype(np.int64, copy=False)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def texts_of(column: pa.ChunkedArray) -> npt.NDArray[np.object_]:
    """A column of few different texts without a gap; each text is stored once."""
    found = [np.empty(0, object)]
    for chunk in column.chunks:
        texts = np.array(chunk.dictionary.to_pylist(), object)
        found.append(texts[np.from_dlpack(chunk.indices)])
    return np.concatenate(found)


def distinct_texts(column: pa.ChunkedArray) -> set[str]:
    """The texts of a column that may have gaps."""
    found = pc.unique(column.cast(pa.string())).to_pylist()
    return {text for text in found if text is not None}
