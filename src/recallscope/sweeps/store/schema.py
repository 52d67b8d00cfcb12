"""Records as rows of Arrow tables, and back.

Every table has the columns of `SCHEMA`. Named metrics have further columns, which come and go:
`metric.NAME` for a number and `metric.NAME[]` for a list of numbers. So have the fields that parts
of problems declare, `field.NAME:TYPE`. Columns that another version wrote are kept, and mean
nothing here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from recallscope.common.errors import ProblemError
from recallscope.common.status import Status
from recallscope.experiment.record import Provenance, Record
from recallscope.problem.field import FIELD_NAME
from recallscope.problem.metrics import METRIC_NAME
from recallscope.problem.naming import ARRAYS, PART_DEFAULTS
from recallscope.problem.problem import Problem
from recallscope.problem.registry import NAME, is_builtin
from recallscope.sweeps.store.plain_rows import plain_rows

KEY = pa.binary(24)
_TEXT = pa.dictionary(pa.int32(), pa.string())  # few values, many rows

PROBLEM_COLUMNS = {
    "vocab": pa.int64(),
    "samples": pa.float64(),  # whole numbers to 2^53, or infinity
    "dim": pa.int64(),
    "length": pa.int64(),
    "width": pa.int64(),
    "activation": _TEXT,
    "embedding": _TEXT,
    "trigger_in_values": pa.bool_(),
    "regime": _TEXT,
    "eta": pa.float64(),
    "gamma": pa.float64(),
    "task": _TEXT,
    "model": _TEXT,
    "learner": _TEXT,
    "metrics": _TEXT,  # their names, with spaces between them
}
_OUTCOME = {"seed": pa.int64()} | dict.fromkeys(("status", "reason", "measure"), _TEXT)
NUMBERS = dict.fromkeys(
    (
        *(
            "attention_accuracy",
            "recall_accuracy",
            "first_gradient_accuracy",
            "score_signal",
            "score_noise",
        ),
        *("trigger_cosine", "first_value_cosine", "second_value_cosine"),
    ),
    pa.float64(),
)
_AS_THEY_ARE = ("seed", "reason", "measure", "test_samples", *NUMBERS)
_PROVENANCE = {
    "engine": _TEXT,
    "dtype": _TEXT,
    "device": _TEXT,
    "revision": _TEXT,
    "elapsed_seconds": pa.float64(),
    "schema": pa.int32(),
    "part_versions": _TEXT,  # as in "embedding=1 learner=2"
    "files": _TEXT,  # in JSON
}
LONGEST_FILES = 2**16
"""Bytes of the text that says the hashes of files."""
_VERSIONS = ("python", "recallscope", "torch", "numpy")
_METRIC, _LIST = "metric.", "[]"
METRIC = re.compile(rf"metric\.{METRIC_NAME.pattern}(?P<list>\[\])?")
FIELD = re.compile(rf"field\.(?P<name>{FIELD_NAME}):(?P<type>bool|int|float|str)")
PART_VERSION = re.compile(r"[1-9][0-9]{0,5}")
FIELD_TYPES = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "str": pa.string()}

SCHEMA = pa.schema(
    {
        "key": KEY,
        **PROBLEM_COLUMNS,
        **_OUTCOME,
        "test_samples": pa.int64(),
        **NUMBERS,
        **_PROVENANCE,
        **{f"{name}_version": _TEXT for name in _VERSIONS},
    }
)


def types_of(columns: Sequence[str]) -> pa.Schema:
    """The types of some columns, as far as they are known: texts of few values are numbered."""
    texts = [name for name in columns if name.startswith("field.") and name.endswith(":str")]
    known = [field for field in SCHEMA if field.name in columns]
    return pa.schema([*known, *(pa.field(name, _TEXT) for name in texts)])


class KeyedRecord(NamedTuple):
    """A record and the key of its cell."""

    key: bytes
    record: Record


def to_table(kept: Sequence[KeyedRecord]) -> pa.Table:
    """One row for each record."""
    records = [record for _, record in kept]
    made = [record.provenance for record in records]
    columns: dict[str, list[Any]] = {"key": [key for key, _ in kept]}
    for name in PROBLEM_COLUMNS:
        columns[name] = [getattr(record.problem, name) for record in records]
    columns["metrics"] = [" ".join(names) or None for names in columns["metrics"]]
    for name in (*_OUTCOME, "test_samples", *NUMBERS):
        columns[name] = [getattr(record, name) for record in records]
    columns["status"] = [str(status) for status in columns["status"]]
    for name in _PROVENANCE:
        columns[name] = [getattr(each, name) for each in made]
    columns["part_versions"] = [_versions_text(each.part_versions) for each in made]
    columns["files"] = [json.dumps(each.files) if each.files else None for each in made]
    for name in _VERSIONS:
        columns[f"{name}_version"] = [each.versions.get(name) for each in made]
    table = pa.table(columns, schema=SCHEMA)
    for place, given in _declared(records).items():
        kind = FIELD_TYPES[place.partition(":")[2]]
        column = pa.array(given, _TEXT if kind == pa.string() else kind)
        table = table.append_column(place, column)
    for name in sorted({name for record in records for name in record.metrics}):
        values = [record.metrics.get(name) for record in records]
        numbers = [value if isinstance(value, Real) else None for value in values]
        lists = [value if isinstance(value, Sequence) else None for value in values]
        kinds = (("", pa.float64(), numbers), (_LIST, pa.list_(pa.float64()), lists))
        for end, kind, column in kinds:
            if any(value is not None for value in column):
                table = table.append_column(f"{_METRIC}{name}{end}", pa.array(column, type=kind))
    return table


def _declared(records: Sequence[Record]) -> dict[str, list[Any]]:
    """The fields that parts declare, by column: a value for each record, None if it has none."""
    found: dict[str, list[Any]] = {}
    for number, record in enumerate(records):
        for name, value in record.problem.keyed_fields().items():
            column = f"field.{name}:{type(value).__name__}"
            found.setdefault(column, [None] * len(records))[number] = value
    return found


def _versions_text(versions: Mapping[str, int]) -> str | None:
    return " ".join(f"{name}={version}" for name, version in versions.items()) or None


def versions_in(text: str | None) -> dict[str, int]:
    """The versions of parts in a text, by kind, and of metrics by name.

    >>> versions_in("learner=2 recall-at-k=1")
    {'learner': 2, 'recall-at-k': 1}
    """
    pairs = [each.rpartition("=") for each in (text or "").split()]
    if not all(PART_VERSION.fullmatch(version) and name for name, _, version in pairs):
        raise ProblemError(f"{text!r:.60} does not say versions of parts")
    return {name: int(version) for name, _, version in pairs}


def files_in(text: str | None) -> dict[str, str]:
    """The hashes of files in a text.

    >>> files_in('{"train.py": "ab12cd34"}')
    {'train.py': 'ab12cd34'}
    """
    return {} if text is None else dict(_parsed_files(text))


@lru_cache(1000)  # the same text stands in a million records
def _parsed_files(text: str) -> dict[str, str]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise ProblemError(f"{text!r:.60} does not say hashes of files")
    return found


def to_records(table: pa.Table) -> Iterator[Record]:
    """The records of the rows, one after another."""
    problems: dict[tuple[Any, ...], Problem] = {}
    problem_columns = columns_of_problems(table.column_names)
    metrics = {
        column: column.removeprefix(_METRIC).removesuffix(_LIST)
        for column in table.column_names
        if METRIC.fullmatch(column)
    }
    for batch in table.to_batches(max_chunksize=10_000):
        for row in plain_rows(batch):
            fields = tuple(row[name] for name in problem_columns)
            if fields not in problems:
                problems[fields] = problem_of(row)
            yield Record(
                problem=problems[fields],
                status=Status(row["status"]),
                metrics={
                    name: row[column] for column, name in metrics.items() if row[column] is not None
                },
                **{name: row[name] for name in _AS_THEY_ARE},
                provenance=Provenance(
                    **{name: row[name] for name in _PROVENANCE}
                    | {
                        "part_versions": versions_in(row["part_versions"]),
                        "files": files_in(row["files"]),
                    },
                    versions={
                        name: row[f"{name}_version"]
                        for name in _VERSIONS
                        if row[f"{name}_version"] is not None
                    },
                ),
            )


def stored_problem(fields: Mapping[str, Any], declared: Mapping[str, Any]) -> Problem:
    """A problem as it was stored, also where its parts are not installed: then it can be read.

    >>> fields = {"vocab": 64, "samples": 512, "dim": 16, "length": 4, "task": "not-here"}
    >>> stored_problem(fields, {"strength": 2.0}).strength
    2.0
    """
    try:
        return Problem(**fields, **declared)
    except ProblemError:
        # A part may be missing, or be another version than it was; ours are what they are.
        kinds = {"metrics": "metric"}
        named = {name: fields.get(name) or () for name in PART_DEFAULTS}
        if all(
            is_builtin(kinds.get(name, name), each)
            for name, given in named.items()
            for each in ([given] if isinstance(given, str) else given)
        ):
            raise
    parts = {name: fields[name] for name in PART_DEFAULTS if name in fields}
    problem = Problem(
        **{name: value for name, value in fields.items() if name not in PART_DEFAULTS}
    )
    for name in [*parts.pop("metrics", ()), *parts.values()]:
        if not NAME.fullmatch(name) and not ARRAYS.fullmatch(name):
            raise ProblemError(f"{name!r:.60} is no name of a part")
    stored = {name: fields[name] for name in PART_DEFAULTS if name in fields}
    for name, value in (stored | {"declared": tuple(sorted(declared.items()))}).items():
        object.__setattr__(problem, name, value)
    return problem


def columns_of_problems(names: Sequence[str]) -> list[str]:
    """The columns of a table that describe the problem."""
    return [*PROBLEM_COLUMNS, *(name for name in names if FIELD.fullmatch(name))]


def problem_of(row: Mapping[str, Any]) -> Problem:
    """The problem of a row; a field without a value is at its default."""
    fields = {name: row[name] for name in PROBLEM_COLUMNS if row.get(name) is not None}
    if "metrics" in fields:
        fields["metrics"] = tuple(fields["metrics"].split())
    declared = {
        match["name"]: value
        for name, value in row.items()
        if value is not None and name.startswith("field.") and (match := FIELD.fullmatch(name))
    }
    return stored_problem(fields, declared)


def by_problem(table: pa.Table) -> list[pa.Array]:
    """The numbers of the rows of each problem, as it was run, in the order of the sizes.

    The same seed with other numbers or by another engine is the same instance again, and no other.
    """
    how = ["measure", "engine", "dtype", "device", "test_samples", "part_versions"]
    names = [*columns_of_problems(table.column_names), *how]
    keys = plain(table.select(names))
    rows = pa.array(np.arange(table.num_rows))
    groups = keys.append_column("row", rows).group_by(names).aggregate([("row", "list")])
    # Arrow cannot sort a column of lists, so the order is found by numbers.
    numbered = groups.select(names).append_column("group", pa.array(np.arange(len(groups))))
    ordered = numbered.sort_by([(name, "ascending") for name in names]).to_pylist()
    lists = groups["row_list"].combine_chunks()
    return [lists[group["group"]].values for group in ordered]


def plain(table: pa.Table) -> pa.Table:
    """Texts as such, not as numbers of a dictionary."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))
