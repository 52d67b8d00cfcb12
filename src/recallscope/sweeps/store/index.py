"""Which cells a store has records of, and what those records measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recallscope.common.status import Status
from recallscope.experiment.record import Record
from recallscope.problem.naming import part_version
from recallscope.problem.problem import Problem
from recallscope.sweeps.store.cell_keys import CellKeys
from recallscope.sweeps.store.schema import versions_in
from recallscope.sweeps.store.tables import KEYS, keys_in, texts_of

INDEXED = ("key", "status", "metrics", "part_versions")
"""The columns that an index is made of."""


class Known(NamedTuple):
    """The record of a cell: its key, how it ended, and whether it lacks a metric asked for."""

    key: bytes
    status: str
    lacks: bool


class RecordIndex:
    """Which cells a store has records of.

    Keys are in one sorted array: a million objects would take longer to make than to look up.

    Attributes:
        metrics: the versions of the metrics of those records that have any.
    """

    def __init__(self, tables: Iterable[pa.Table] = ()) -> None:
        self.metrics: dict[bytes, dict[str, int]] = {}
        self._new: dict[bytes, str] = {}
        every, ended = [np.empty(0, KEYS)], [np.empty(0, object)]
        for table in tables:
            every.append(keys_in(table["key"]))
            ended.append(texts_of(table["status"]))
            self._add_metrics(table)
        keys, statuses = np.concatenate(every), np.concatenate(ended)
        order = keys.argsort(kind="stable")
        if (keys[order][1:] == keys[order][:-1]).any():  # then the good one comes last
            order = np.lexsort((statuses == Status.OK, keys))
        self._keys, self._statuses = keys[order], statuses[order]

    @property
    def statuses(self) -> dict[bytes, str]:
        """The status of every record, by its key."""
        return dict(zip(self._keys.view("V24").tolist(), self._statuses, strict=True)) | self._new

    def find(self, keys: CellKeys, cell: tuple[Problem, int]) -> Known | None:
        """The record of a cell."""
        key = keys(cell)
        status = self._status(key)
        return None if status is None else Known(key, status, self._lacks(key, status, cell[0]))

    def answers(self, keys: CellKeys, problem: Problem, seeds: Sequence[int]) -> list[str | None]:
        """The status of the record of each seed; None where there is none, or it lacks metrics."""
        if problem.metrics or self._new:
            known = (self.find(keys, (problem, seed)) for seed in seeds)
            return [None if each is None or each.lacks else each.status for each in known]
        # All at once where a digest says it all: there may be a million cells.
        return list(map(self._by_seed(keys.digest(problem)).get, seeds))

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
                has = self.metrics.setdefault(row["key"], {})
                for name, version in _versions_of(row["metrics"].split(), versions).items():
                    has[name] = max(version, has.get(name, 0))

    def add(self, key: bytes, record: Record) -> None:
        """Take account of a record that is new, or has new metrics."""
        self._new[key] = str(record.status)
        if record.problem.metrics:
            versions = record.provenance.part_versions
            self.metrics[key] = _versions_of(record.problem.metrics, versions)


def _versions_of(metrics: Iterable[str], versions: Mapping[str, int]) -> dict[str, int]:
    """The version of each metric, where the record says it."""
    return {name: versions[name] for name in metrics if name in versions}
