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
from recallscope.store.keys import CellKeys, digest_and_seed, key_of, keys_of_record
from recallscope.store.schema import to_records, versions_in
from recallscope.store.tables import KEYS, keys_in, texts_of

INDEXED = ("key", "status", "metrics", "part_versions", "schema")
"""The columns that an index is made of."""

_PARTS = np.dtype([("digest", "S16"), ("seed", ">u8")])  # of a key


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
    """

    def __init__(self, tables: Iterable[pa.Table] = ()) -> None:
        keys, statuses = [np.empty(0, KEYS)], [np.empty(0, object)]
        self.metrics: dict[bytes, dict[str, int]] = {}
        for table in tables:
            keys.append(keys_in(table["key"]))
            statuses.append(texts_of(table["status"]))
            self._add_metrics(table)
        joined = np.concatenate(keys)
        order = joined.argsort(kind="stable")  # of two with one key, the later counts
        self._keys, self._statuses = joined[order], np.concatenate(statuses)[order]
        self._new: dict[bytes, dict[int, str]] = {}
        # The digests under which 0.2 kept records with metrics, by those of today and the seed.
        self._since: dict[bytes, dict[int, bytes]] = {}

    @property
    def statuses(self) -> dict[bytes, str]:
        """The status of every record, by its key."""
        every = dict(zip(self._keys.view("V24").tolist(), self._statuses, strict=True))
        for digest, found in self._new.items():
            every |= {key_of(digest, seed): status for seed, status in found.items()}
        return every

    def find(self, keys: CellKeys, cell: tuple[Problem, int]) -> Known | None:
        """The record of a cell, under a key of today or of the versions before."""
        problem, seed = cell
        for asked in keys.digests(problem):
            digest = self._since.get(asked, {}).get(seed, asked)
            status = self._status(digest, seed)
            if status is not None:
                key = key_of(digest, seed)
                return Known(key, status, self._lacks(key, status, problem))
        return None

    def answers(self, keys: CellKeys, problem: Problem, seeds: Sequence[int]) -> list[str | None]:
        """The status of the record of each seed; None where there is none, or it lacks metrics."""
        found: dict[int, str] = {}
        statuses: list[str | None] = []
        for digest in keys.digests(problem):
            found = self._by_seed(digest) | found
            statuses = list(map(found.get, seeds))
            if None not in statuses:
                break
        if not problem.metrics:
            return statuses
        known = (self.find(keys, (problem, seed)) if seed in found else None for seed in seeds)
        return [None if each is None or each.lacks else each.status for each in known]

    def _by_seed(self, digest: bytes) -> dict[int, str]:
        """The statuses of all records with a digest."""
        ends = np.array([digest, digest + b"\xff" * 8], KEYS)  # a seed ends in 7f ff ... at most
        rows = slice(*self._keys.searchsorted(ends))
        seeds = self._keys[rows].view(_PARTS)["seed"].tolist()
        found = dict(zip(seeds, self._statuses[rows].tolist(), strict=True))
        found |= self._new.get(digest, {})
        for seed, former in self._since.get(digest, {}).items():
            if (status := self._status(former, seed)) is not None:
                found[seed] = status
        return found

    def _status(self, digest: bytes, seed: int) -> str | None:
        if (new := self._new.get(digest, {}).get(seed)) is not None:
            return new
        key = np.array(key_of(digest, seed), KEYS)
        first, after = self._keys.searchsorted(key), self._keys.searchsorted(key, "right")
        return str(self._statuses[after - 1]) if first < after else None

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
        for digest, seed in map(digest_and_seed, table["key"].to_pylist()):
            if digest in today:
                self._since.setdefault(today[digest], {})[seed] = digest

    def add(self, key: bytes, record: Record) -> None:
        """Take account of a record that is new, or has new metrics."""
        digest, seed = digest_and_seed(key)
        self._new.setdefault(digest, {})[seed] = str(record.status)
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
