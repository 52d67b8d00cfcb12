"""The table of runs: one plain Parquet file, a row for each run of a sweep.

Columns are the sweep, the fields of the problem, the seed, the status, what was measured, and how
long it took by which versions. Metrics have a prefix. There are no keys, and nothing in it needs
recallscope: any reader of Parquet opens it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from recallscope.common.status import Status
from recallscope.experiment.record import Provenance, Record
from recallscope.problem.problem import Problem
from recallscope.problem.rows import problem_of, row_of
from reproduction.recorded_names import todays_name

_METRIC = "metric: "
_MEASURED = (
    *("reason", "test_samples", "attention_accuracy", "recall_accuracy", "first_gradient_accuracy"),
    *("score_signal", "score_noise", "trigger_cosine", "first_value_cosine"),
    "second_value_cosine",
)
_MADE_BY = ("engine", "dtype", "device", "revision", "elapsed_seconds")


def table_of(sweep: str, records: Sequence[Record]) -> pa.Table:
    """The rows of one sweep."""
    return pa.Table.from_pylist([_row(sweep, record) for record in records])


def read_runs(path: Path) -> pa.Table:
    """The table of a file, with the names that are used today."""
    table = pq.read_table(path)
    table = table.rename_columns([todays_name(name) for name in table.column_names])
    sweeps = pa.array([todays_name(name) for name in table["sweep"].to_pylist()], pa.string())
    return table.set_column(table.column_names.index("sweep"), "sweep", sweeps)


def with_sweep(path: Path, sweep: str, records: Sequence[Record]) -> pa.Table:
    """Return the table of a file, if there is one, with the runs of one more sweep."""
    tables = [table_of(sweep, records)]
    if path.exists():
        tables.insert(0, read_runs(path).filter(pc.field("sweep") != sweep))
    return _without_empty_columns(pa.concat_tables(tables, promote_options="permissive"))


def records_of(table: pa.Table, sweep: str) -> list[Record]:
    """The runs of one sweep, in their order."""
    rows = _without_empty_columns(table.filter(pc.field("sweep") == sweep))
    problems: dict[tuple[Any, ...], Problem] = {}
    return [_record(row, problems) for row in rows.to_pylist()]


def _without_empty_columns(table: pa.Table) -> pa.Table:
    names = table.column_names
    return table.select([name for name in names if table[name].null_count < len(table)])


def _row(sweep: str, record: Record) -> dict[str, Any]:
    made = record.provenance
    return {
        "sweep": sweep,
        **row_of(record.problem),
        "seed": record.seed,
        "status": str(record.status),
        **{name: getattr(record, name) for name in _MEASURED},
        **{_METRIC + name: value for name, value in record.metrics.items()},
        **{name: getattr(made, name) for name in _MADE_BY},
        "versions": json.dumps(made.versions, sort_keys=True),
    }


def _record(row: Mapping[str, Any], problems: dict[tuple[Any, ...], Problem]) -> Record:
    metrics = {
        name.removeprefix(_METRIC): value
        for name, value in row.items()
        if name.startswith(_METRIC) and value is not None
    }
    others = {"sweep", "seed", "status", "versions", *_MEASURED, *_MADE_BY}
    fields = {
        name: value
        for name, value in row.items()
        if name not in others and not name.startswith(_METRIC) and value is not None
    }
    key = tuple(fields.items())
    if key not in problems:  # thousands of runs are of hundreds of problems
        problems[key] = problem_of(fields)
    made = {name: row.get(name) for name in _MADE_BY}
    return Record(
        problem=problems[key],
        seed=row["seed"],
        status=Status(row["status"]),
        metrics=metrics,
        provenance=Provenance(**made, versions=json.loads(row["versions"])),  # type: ignore[arg-type]
        **{name: row.get(name) for name in _MEASURED},
    )
