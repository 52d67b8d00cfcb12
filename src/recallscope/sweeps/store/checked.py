"""Rows that are read from a store: refused where no experiment could have given them.

Anybody can write to a table. What is made of its rows is shown in a terminal and counted on.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from recallscope.common.checks import LARGEST_SEED, LARGEST_SIZE
from recallscope.common.errors import ProblemError
from recallscope.common.status import Status
from recallscope.problem.field import ACTED_ON, LONGEST_TEXT
from recallscope.problem.metrics import ACCURACIES
from recallscope.sweeps.store import schema
from recallscope.sweeps.store.tables import different_rows, distinct_texts

NEEDED = ("key", "seed", "status", "vocab", "samples", "dim", "length")


class BadRowsError(ProblemError):
    """Rows that no experiment gave: the message says which."""


def checked(table: pa.Table) -> pa.Table:
    """The same rows, if they can be records; columns that are not there are not missed."""
    missing = set(NEEDED) - set(table.column_names)
    if missing and "vocab" in table.column_names:
        raise BadRowsError(f"there is no column {min(missing)}")
    for name in set(NEEDED) & set(table.column_names):
        if table[name].null_count:
            raise BadRowsError(f"there are rows without {name}")
    for field in table.schema:
        if pa.types.is_dictionary(field.type) or pa.types.is_string(field.type):
            _check_texts(field.name, table[field.name])
    names = set(table.column_names)
    if "status" in names and not distinct_texts(table["status"]) <= set(Status):
        raise BadRowsError("there is an unknown status")
    ranges = {"seed": (0, LARGEST_SEED), "test_samples": (1, LARGEST_SIZE)}
    for name, (low, high) in (ranges | dict.fromkeys(ACCURACIES, (0, 1))).items():
        if name in names:
            _check_range(name, table[name], low, high)
    _check_named_columns(table)
    if names >= set(NEEDED):
        _check_problems(table)
    return table


def _check_problems(table: pa.Table) -> None:
    columns = [*schema.columns_of_problems(table.column_names), "part_versions", "files"]
    for row in schema.plain(different_rows(table.select(columns))).to_pylist():
        try:
            schema.problem_of(row)
            schema.versions_in(row.get("part_versions"))
            schema.files_in(row.get("files"))
        except ProblemError as error:
            raise BadRowsError(str(error)) from None


def _check_named_columns(table: pa.Table) -> None:
    """Raise if a field of a part or a metric is not what one can be."""
    for field in table.schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if match := schema.FIELD.fullmatch(field.name):
            if kind != schema.FIELD_TYPES[match["type"]]:
                raise BadRowsError(f"the column {field.name} has the type {field.type}")
            if kind == pa.float64() and pc.all(pc.is_finite(table[field.name])).as_py() is False:
                raise BadRowsError(f"{field.name} is not finite")
        elif match := schema.METRIC.fullmatch(field.name):
            listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
            inner = kind.value_type if listed else kind
            if inner != pa.float64() or listed != bool(match["list"]):
                raise BadRowsError(f"the column {field.name} has the type {field.type}")
            if listed and pc.list_flatten(table[field.name]).null_count:
                raise BadRowsError(f"{field.name} has nulls among its numbers")
        elif field.name.startswith(("field.", "metric.")):
            raise BadRowsError(f"{field.name!r:.60} is no name of a field or a metric")


def _check_texts(name: str, column: pa.ChunkedArray) -> None:
    texts = pc.unique(column.cast(pa.string())).drop_null()
    longest = pc.max(pc.binary_length(texts)).as_py() or 0
    # Only reasons are free texts, and they are shown as such.
    if schema.FIELD.fullmatch(name) or (name in schema.SCHEMA.names and name != "reason"):
        strange = pc.any(pc.match_substring_regex(texts, ACTED_ON)).as_py()
        many = name in ("metrics", "part_versions")
        most = 20 * LONGEST_TEXT if many else LONGEST_TEXT
        most = schema.LONGEST_FILES if name == "files" else most
        if strange or longest > most:
            raise BadRowsError(f"there is a strange text in {name}")


def _check_range(name: str, column: pa.ChunkedArray, low: float, high: float) -> None:
    ends = pc.min_max(column).as_py()  # without nulls and NaN; None if there is nothing else
    inside = ends["min"] is None or low <= ends["min"] <= ends["max"] <= high
    if not inside or (pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py()):
        raise BadRowsError(f"{name} is out of its range")
