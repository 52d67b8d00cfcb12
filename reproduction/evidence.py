"""The runs that statements rest on: two tables in a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from recallscope.experiment.record import Record
from reproduction.critical_sizes import CriticalSize, read_sizes
from reproduction.runs import read_runs, records_of
from reproduction.sweeps import SizedSweep

BUNDLE = Path(__file__).with_name("bundle")
"""The runs of full size that the verdicts in the documentation rest on."""
RUNS, CRITICAL_SIZES = "runs.parquet", "critical-sizes.csv"


class NotMeasuredError(Exception):
    """A sweep that a statement rests on has not been run."""


class Evidence:
    """Runs and critical sizes by the sweep that they belong to."""

    def __init__(self, runs: pa.Table, sizes: Mapping[str, Sequence[CriticalSize]]) -> None:
        self.table = runs
        self._known = set(pc.unique(runs["sweep"]).to_pylist())
        self._sizes = sizes
        self._runs: dict[str, list[Record]] = {}  # several statements use the same sweeps

    @classmethod
    def at(cls, folder: Path) -> Evidence:
        """The two tables of a folder, which may not be there yet."""
        path = folder / RUNS
        table = read_runs(path) if path.exists() else pa.table({"sweep": pa.array([], pa.string())})
        return cls(table, read_sizes(folder / CRITICAL_SIZES))

    def has(self, sweep: SizedSweep) -> bool:
        """Whether a sweep was run to its end."""
        return sweep.name in self._known

    def runs(self, sweep: SizedSweep) -> Sequence[Record]:
        """The runs of a sweep, in its order."""
        self._check(sweep)
        if sweep.name not in self._runs:
            self._runs[sweep.name] = records_of(self.table, sweep.name)
        return self._runs[sweep.name]

    def rows(self, sweep: SizedSweep, *columns: str) -> list[dict[str, Any]]:
        """Some columns of the runs of a sweep: much faster than whole records."""
        self._check(sweep)
        rows: list[dict[str, Any]] = self.of([sweep]).select(columns).to_pylist()
        return rows

    def critical_sizes(self, sweep: SizedSweep) -> Sequence[CriticalSize]:
        """The critical sizes that the searches of a sweep found, in its order."""
        self._check(sweep)
        return self._sizes[sweep.name]

    def of(self, sweeps: Iterable[SizedSweep]) -> pa.Table:
        """The rows of some sweeps."""
        return self.table.filter(pc.field("sweep").isin([sweep.name for sweep in sweeps]))

    def lost(self, sweeps: Iterable[SizedSweep]) -> int:
        """How many runs of some sweeps failed or are infeasible."""
        return int(pc.sum(pc.not_equal(self.of(sweeps)["status"], "ok")).as_py() or 0)

    def _check(self, sweep: SizedSweep) -> None:
        if not self.has(sweep):
            raise NotMeasuredError(f"the sweep {sweep.name} has not been run")
