"""Several records of one cell: whether they agree, and what they say together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from recallscope.common.status import Status
from recallscope.experiment.record import Record
from recallscope.sweeps.store import schema
from recallscope.sweeps.store.delta import StoreError
from recallscope.sweeps.store.tables import joined, keys_in, twice

_VALUES = ("test_samples", *schema.NUMBERS)


class Merged(NamedTuple):
    """The counts of a merge, of all records that the other store has."""

    added: int
    better: int
    """Ok there and not ok here: now it is ok here too."""
    completed: int
    """Records of cells that are here too, which brought metrics that were missing here."""
    conflicts: int
    """Records of cells that are here too, with other values: one of the two is wrong."""


def united(table: pa.Table) -> pa.Table:
    """Each cell once: a record that is ok rather than another, with the metrics of all of them."""
    again = twice(keys_in(table["key"]))
    if not again.any():
        return table
    return joined([table.filter(pa.array(~again)), schema.to_table(_once(table, again))])


def conflicting(table: pa.Table) -> list[bytes]:
    """The keys of cells with records that disagree."""
    again = twice(keys_in(table["key"]))
    found = []
    for key, records in _by_key(table.filter(pa.array(again))).items():
        try:
            together(records)
        except StoreError:
            found.append(key)
    return found


def _once(table: pa.Table, again: np.ndarray) -> list[schema.KeyedRecord]:
    return [
        schema.KeyedRecord(key, together(records))
        for key, records in _by_key(table.filter(pa.array(again))).items()
    ]


def _by_key(table: pa.Table) -> dict[bytes, list[Record]]:
    found: dict[bytes, list[Record]] = {}
    for key, record in zip(table["key"].to_pylist(), schema.to_records(table), strict=True):
        found.setdefault(key, []).append(record)
    return found


def together(records: Iterable[Record]) -> Record:
    """One record of several of one cell; `StoreError` names two that disagree."""
    first, *others = sorted(records, key=_order)
    for other in others:
        if other.status is not Status.OK:
            break
        if differing := disagreements(first, other):
            name = differing[0]
            raise StoreError(
                f"there are two records of {first.problem!r} at seed {first.seed}, and {name} is "
                f"{value_of(first, name)} in the one, written with {versions_of(first)}, and "
                f"{value_of(other, name)} in the other, written with {versions_of(other)}; "
                "recallscope records compact --drop conflicting removes both, to be run again"
            )
        first = completed(first, other)
    return first


def _order(record: Record) -> tuple[bool, int]:
    """Records that are ok come first, and among them those of the older metrics."""
    return record.status is not Status.OK, sum(record.provenance.part_versions.values())


def merged(ours: pa.Table, theirs: pa.Table) -> tuple[Merged, pa.Table]:
    """The rows of another store that are to be added here, counted; each cell is there once."""
    here = _by_key(ours.filter(pa.array(np.isin(keys_in(ours["key"]), keys_in(theirs["key"])))))
    wanted, counts = [], dict.fromkeys(Merged._fields, 0)
    for key, record in zip(theirs["key"].to_pylist(), schema.to_records(theirs), strict=True):
        what = "added" if key not in here else _compared(together(here[key]), record)
        wanted.append(what in ("added", "better", "completed"))
        if what:
            counts[what] += 1
    return Merged(**counts), theirs.filter(pa.array(wanted, pa.bool_()))


def _compared(old: Record, new: Record) -> str:
    """What a record of another store is to one of the same cell here; nothing if it is no news."""
    if new.status is not Status.OK:
        return ""
    if old.status is not Status.OK:
        return "better"
    if disagreements(old, new):
        return "conflicts"
    return "" if all(_has(old, name, new) for name in new.problem.metrics) else "completed"


def disagreements(old: Record, new: Record) -> list[str]:
    """Return the values that two records of one cell both have, and that differ.

    None do if one of them says that it is not repeatable: then the first counts.
    """
    if not (_repeatable(old) and _repeatable(new)):
        return []
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
    both = old.metrics, new.metrics
    first, then = both if _repeatable(old) and _repeatable(new) else both[::-1]
    return replace(
        old,
        problem=schema.stored_problem(fields, declared),
        metrics={**first, **then},
        provenance=made,
    )


def _repeatable(record: Record) -> bool:
    """Whether a second run gives the same bits, as all do that do not say otherwise."""
    return record.metrics.get("repeatable") != 0


def value_of(record: Record, name: str) -> object:
    """A number of a record, or a metric."""
    return record.metrics.get(name, getattr(record, name, None))


def versions_of(record: Record) -> str:
    """The versions of what made a record, in words."""
    found = record.provenance.versions
    return ", ".join(f"{name} {version}" for name, version in found.items()) or "unknown versions"


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
