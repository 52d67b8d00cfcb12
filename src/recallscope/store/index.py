"""Which cells a store has records of, and what those records measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from recallscope.problem import Problem
from recallscope.record import Record, Status
from recallscope.store.keys import CellKeys, keys_of_record
from recallscope.store.schema import to_records, versions_in
from recallscope.store.tables import texts_of

INDEXED = ("key", "status", "metrics", "part_versions", "schema")
"""The columns that an index is made of."""


class Known(NamedTuple):
    """The record of a cell: its key, how it ended, and whether it lacks a metric asked for."""

    key: bytes
    status: str
    lacks: bool


@dataclass
class RecordIndex:
    """Which cells a store has records of.

    Attributes:
        statuses: of every record, by its key.
        metrics: the versions of the metrics of those records that have any.
        keys_since: the keys under which 0.2 kept records with metrics, by the keys of today.
    """

    statuses: dict[bytes, str] = field(default_factory=dict)
    metrics: dict[bytes, dict[str, int]] = field(default_factory=dict)
    keys_since: dict[bytes, bytes] = field(default_factory=dict)

    def find(self, keys: CellKeys, cell: tuple[Problem, int]) -> Known | None:
        """The record of a cell, under a key of today or of the versions before."""
        for asked in keys.every(cell):
            key = self.keys_since.get(asked, asked)
            status = self.statuses.get(key)
            if status is not None:
                return Known(key, status, self._lacks(key, status, cell[0]))
        return None

    def _lacks(self, key: bytes, status: str, problem: Problem) -> bool:
        # What did not run to its end has no metrics, and would not have them the next time.
        if not problem.metrics or status != Status.OK:
            return False
        has, versions = self.metrics.get(key, {}), problem.part_versions()
        return any(has.get(name) != versions[name] for name in problem.metrics)

    def add_former(self, table: pa.Table) -> None:
        """Add what records of 0.2 with metrics answer: their keys covered the metrics."""
        table = table.filter(pc.is_valid(table["metrics"]))
        today = keys_of_today(table)
        for key in table["key"].to_pylist():
            if key[:16] in today:
                self.keys_since[today[key[:16]] + key[16:]] = key

    def add(self, key: bytes, record: Record) -> None:
        """Take account of a record that is new, or has new metrics."""
        self.statuses[key] = str(record.status)
        if record.problem.metrics:
            versions = record.provenance.part_versions
            self.metrics[key] = _versions_of(record.problem.metrics, versions)


def index_of(tables: Iterable[pa.Table]) -> RecordIndex:
    """The index of some shards; for a million records, it is made of few columns of them."""
    index = RecordIndex()
    for table in tables:
        index.statuses.update(zip(table["key"].to_pylist(), texts_of(table["status"]), strict=True))
        if table["metrics"].null_count < table.num_rows:
            measured = table.filter(pc.is_valid(table["metrics"]))
            for row in measured.select(["key", "metrics", "part_versions"]).to_pylist():
                versions = versions_in(row["part_versions"])
                index.metrics[row["key"]] = _versions_of(row["metrics"].split(), versions)
    return index


def _versions_of(metrics: Iterable[str], versions: Mapping[str, int]) -> dict[str, int]:
    """The version of each metric; 0.2 wrote none, and all were 1."""
    return {name: versions.get(name, 1) for name in metrics}


def keys_of_today(table: pa.Table) -> dict[bytes, bytes]:
    """For records of 0.1 and 0.2 that were tested, what their keys begin with, then and today.

    One record of each problem says it for all seeds.
    """
    tested = pc.or_(pc.is_valid(table["test_samples"]), pc.is_valid(table["measure"]))
    table = table.filter(pc.and_(pc.equal(table["schema"], 1), tested))
    beginnings = [key[:16] for key in table["key"].to_pylist()]
    rows = {beginning: row for row, beginning in enumerate(beginnings)}
    firsts = table.take(pa.array(rows.values(), pa.int64()))
    return {
        beginning: keys_of_record(record)[0][:16]
        for beginning, record in zip(rows, to_records(firsts), strict=True)
    }
