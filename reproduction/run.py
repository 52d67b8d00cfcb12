"""Run the sweeps of statements at one size.

What they give is two tables in a folder. An interrupted sweep goes on from its records:

    FOLDER/runs.parquet          every run
    FOLDER/critical-sizes.csv    what searches found
    FOLDER/store/NAME            records of a sweep
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import recallscope
from recallscope.common.new_files import written_next_to
from recallscope.experiment.record import Record
from recallscope.measure.sweep_file import Sweep
from recallscope.sweeps.store.store import Store
from reproduction.critical_sizes import critical_sizes, read_sizes, searches_told, write_sizes
from reproduction.evidence import CRITICAL_SIZES, RUNS
from reproduction.runs import with_sweep
from reproduction.sweeps import SizedSweep


def run_sweep(
    sweep: SizedSweep,
    size: str,
    folder: Path,
    *,
    progress: Callable[[float, float], None],
    where: Mapping[str, Any],
) -> None:
    """Run a sweep to its end, and put it into the tables of a folder.

    `where` has the executor and its workers, as in `recallscope.sweep`.
    """
    tables = sweep.of_size(size)
    store = folder / "store" / sweep.name
    store.parent.mkdir(parents=True, exist_ok=True)
    if sweep.measure is None:
        recallscope.sweep(tables, store, progress=progress, **where)
    else:
        measure: dict[str, Any] = {"run": sweep.measure, "name": sweep.name, "version": 1}
        recallscope.sweep(tables.cells(), store, progress=progress, **measure, **where)
    records = list(Store(store).records())
    if tables.critical is None:
        records = _in_order(tables, records)
    else:
        sizes = read_sizes(folder / CRITICAL_SIZES)
        sizes[sweep.name] = critical_sizes(searches_told(tables, records))
        write_sizes(folder / CRITICAL_SIZES, sizes)
        records.sort(key=lambda record: record.seed)
    table = with_sweep(folder / RUNS, sweep.name, records)
    with written_next_to(folder / RUNS, "table of runs") as part:
        pq.write_table(table, part, compression="zstd", compression_level=19)


def _in_order(sweep: Sweep, records: list[Record]) -> list[Record]:
    by_cell = {(record.problem, record.seed): record for record in records}
    return [by_cell[cell.problem, cell.seed] for cell in sweep.cells()]
