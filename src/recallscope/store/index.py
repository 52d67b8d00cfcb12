"""Which cells a store has records of, and what those records measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recallscope.parts.naming import part_version
from recallscope.problem import Problem
from recallscope.record import Record, Status
from recallscope.store.keys import CellKeys, keys_of_record
from recallscope.store.schema import to_records, versions_in
from recallscope.store.tables import KEYS, keys_in, texts_of

INDEXED = ("key", "status", "metrics", "part_versions", "schema")
"""The columns that an index is made of."""


class Known(NamedTuple):
    """The record of a cell: its key, how it ended, and whether it lacks a metric asked for."""

    key: bytes
    status: str
    lacks: bool


class RecordIndex:
    """Which cells a store has records of.

    Keys are kept as they are in shards, in one sorted array: a million objects would take longer
    to make than to look up.

    Attributes:
        metrics: the versions of the metrics of those records that have any.
        keys_since: the keys under which 0.2 kept records with metrics, by the keys of today.
    """

    def __init__(self, tables: Iterable[pa.Table] = ()) -> None:
        self.metrics: dict[bytes, dict[str, int]] = {}
        self.keys_since: dict[bytes, bytes] = {}
        self._new: dict[bytes, str] = {}
        keys, statuses = [np.empty(0, KEYS)], [np.empty(0, object)]
        for table in tables:
            keys.append(keys_in(table["key"]))
            statuses.append(texts_of(table["status"]))
            self._add_metrics(table)
        joined = np.concatenate(keys)
        order = joined.argsort(kind="stable")  # of two with one key, the later counts
        self._keys, self._statuses = joined[order], np.concatenate(statuses)[order]

    @property
    def statuses(self) -> dict[bytes, str]:
        """The status of every record, by its key."""
        return dict(zip(self._keys.view("V24").tolist(), self._statuses, strict=True)) | self._new

    def find(self, keys: CellKeys, cell: tuple[Problem, int]) -> Known | None:
        """The record of a cell, under a key of today or of the versions before."""
        for asked in keys.every(cell):
            key = self.keys_since.get(asked, asked)
            status = self._status(key)
            if status is not None:
                return Known(key, status, self._lacks(key, status, cell[0]))
        return None

    def answers(self, keys: CellKeys, problem: Problem, seeds: Sequence[int]) -> list[str | None]:
        """The status of the record of each seed; None where there is none, or it lacks metrics."""
        if problem.metrics or self.keys_since or self._new:
            known = (self.find(keys, (problem, seed)) for seed in seeds)
            return [None if each is None or each.lacks else each.status for each in known]
        # All at once where a digest says it all: there may be a million cells.
        found: dict[int, str] = {}
        statuses: list[str | None] = []
        for digest in keys.digests(problem):
            found = self._by_seed(digest) | found
            statuses = list(map(found.get, seeds))
            if None not in statuses:
                break
        return statuses

    def _by_seed(self, digest: bytes) -> dict[int, str]:
        ends = np.array([digest, digest + b"\xff" * 8], KEYS)  # a seed ends in 7f ff ... at most
        rows = slice(*self._keys.searchsorted(ends))
        seeds = self._keys[rows].view([("digest", "S16"), ("seed", ">u8")])["seed"].tolist()
        return dict(zip(seeds, self._statuses[rows].tolist(), strict=True))

    def _status(self, key: bytes) -> str | None:
        asked = np.array(key, KEYS)
        first, after = self._keys.searchsorted(asked), self._keys.searchsorted(asked, "right")
        return self._new.get(key, str(self._statuses[after - 1]) if first < after else None)

    def _lacks(self, key: bytes, status: str, problem: Problem) -> bool:
        # What did not run to its end has no metrics, and would not have them the next time.
        if not problem.metrics or status != Status.OK:
            return False
        has = self.metrics.get(key, {})
        return any(has.get(name) != part_version("metric", name) for name in problem.metrics)

    def _add_metrics(self, table: pa.Table) -> None:
        if table["metrics"].null_count < table.num_rows:
            measured = table.filter(pc.is_valid(table["metrics"]))
            for row in measured.select(["key", "metrics", "part_versions"]).to_pylist():
                versions = versions_in(row["part_versions"])
                self.metrics[row["key"]] = _versions_of(row["metrics"].split(), versions)

    def add_former(self, table: pa.Table) -> None:
        """Add what records of 0.2 with metrics answer: their keys covered the metrics."""
        table = table.filter(pc.is_valid(table["metrics"]))
        today = keys_of_today(table)
        for key in table["key"].to_pylist():
            if key[:16] in today:
                self.keys_since[today[key[:16]] + key[16:]] = key

    def add(self, key: bytes, record: Record) -> None:
        """Take account of a record that is new, or has new metrics."""
        self._new[key] = str(record.status)
        if record.problem.metrics:
            versions = record.provenance.part_versions
            self.metrics[key] = _versions_of(record.problem.metrics, versions)


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
