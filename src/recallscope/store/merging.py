"""Two records of one cell: whether they agree, and what they say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from recallscope.record import Record, Status
from recallscope.store import schema
from recallscope.store.tables import texts_of

_VALUES = ("test_samples", *schema.NUMBERS)


@dataclass
class Comparison:
    """The comparison with another store: new records by table, and how the others compare."""

    new: list[pa.Table] = field(default_factory=list)
    completed: list[schema.KeyedRecord] = field(default_factory=list)
    better: int = 0
    conflicts: int = 0


def compare(ours: pa.Table, theirs: Sequence[pa.Table]) -> Comparison:
    """Compare records of another store with those here, cell by cell."""
    places: dict[bytes, int | None] = {key: row for row, key in enumerate(ours["key"].to_pylist())}
    statuses, found = texts_of(ours["status"]), Comparison()
    for table in theirs:
        new: list[bool] = []
        both: list[tuple[int, int]] = []
        for row, (cell, status) in enumerate(
            zip(table["key"].to_pylist(), texts_of(table["status"]), strict=True)
        ):
            new.append(cell not in places)
            place = places.setdefault(cell, None)  # None for what came just now
            if place is not None and status == Status.OK:
                if statuses[place] == Status.OK:
                    both.append((place, row))
                else:
                    found.better += 1
        found.new.append(table.filter(pa.array(new, pa.bool_())))
        if both:
            here, there = (pa.array(rows, pa.int64()) for rows in zip(*both, strict=True))
            _compare_rows(ours.take(here), table.take(there), found)
    return found


def _compare_rows(ours: pa.Table, theirs: pa.Table, found: Comparison) -> None:
    named = set(ours.column_names) & set(theirs.column_names)
    columns = [*_VALUES, *sorted(name for name in named if schema.METRIC.fullmatch(name))]
    one, other = (
        list(zip(*(table[name].to_pylist() for name in columns), strict=True))
        for table in (ours, theirs)
    )
    metrics = ours["metrics"].to_pylist(), theirs["metrics"].to_pylist()
    unlike = [
        row
        for row, (here, there) in enumerate(zip(*metrics, strict=True))
        if one[row] != other[row] or there not in (None, here)
    ]
    rows = pa.array(unlike, pa.int64())
    keys = ours["key"].take(rows).to_pylist()
    records = zip(
        schema.to_records(ours.take(rows)), schema.to_records(theirs.take(rows)), strict=True
    )
    for key, (old, new) in zip(keys, records, strict=True):
        if disagreements(old, new):
            found.conflicts += 1
        elif new.problem.metrics:
            found.completed.append(schema.KeyedRecord(key, completed(old, new)))


def disagreements(old: Record, new: Record) -> list[str]:
    """Return the values that two records of one cell both have, and that differ."""
    one, other = _values(old), _values(new)
    fresh = {_called(name) for name in new.problem.metrics if not _has(old, name, new)}
    names = [name for name in one if name in other and name not in fresh]
    return [name for name in names if _differ(one[name], other[name])]


def completed(old: Record, new: Record) -> Record:
    """A record with the metrics of a newer one of the same cell, and under the same key."""
    fresh = {_called(name) for name in new.problem.metrics}
    metrics = {name for name in old.problem.metrics if _called(name) not in fresh}
    fields = {name: getattr(old.problem, name) for name in schema.PROBLEM_COLUMNS}
    fields["metrics"] = tuple(sorted(metrics | set(new.problem.metrics)))
    declared = dict(old.problem.declared) | dict(new.problem.declared)
    made = replace(
        new.provenance,
        part_versions=old.provenance.part_versions | new.provenance.part_versions,
    )
    return replace(
        old,
        problem=schema.stored_problem(fields, declared),
        metrics={**old.metrics, **new.metrics},
        provenance=made,
    )


def _values(record: Record) -> Mapping[str, Any]:
    return {name: getattr(record, name) for name in _VALUES} | dict(record.metrics)


def _called(metric: str) -> str:
    """The name of a metric without the hash of its source."""
    return metric.partition(":")[0]


def _has(record: Record, metric: str, like: Record) -> bool:
    """Whether a record has a metric at the version that another one has it at."""
    one, other = (each.provenance.part_versions.get(metric, 1) for each in (record, like))
    return metric in record.problem.metrics and one == other


def _differ(one: Any, other: Any) -> bool:
    """Whether two values differ; NaN is like itself."""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return any(_differ(*pair) for pair in zip(one, other, strict=True))
    return bool(one != other and not (one != one and other != other))
