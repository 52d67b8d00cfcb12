"""Run what claims rest on, at one size: every run that is not in the folder yet."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from recallscope.cell import Cell
from recallscope.executors.base import Executor, numbers
from recallscope.paper.evidence import READINGS, RECORDS, Evidence, Measurement, read_readings
from recallscope.paper.measurements import MEASURES
from recallscope.paper.presets import sweep_of
from recallscope.problem import ProblemError
from recallscope.store.store import Store
from recallscope.sweeps import scheduler


def run_claim_sweep(
    name: str, size: str, place: Path, executor: Executor, progress: scheduler.ProgressCallback
) -> None:
    """Run one sweep of the claims. Interrupted and called again, it resumes."""
    spec = sweep_of(name, size)
    if name in MEASURES:
        _measure(name, list(spec.cells()), place, executor, progress)
        return
    store, how = Store(place / RECORDS), (executor, spec.settings, progress)
    if spec.critical is None:
        scheduler.run_all(list(spec.cells()), *how, limits=spec.limits, store=store)
    else:
        # Those that are done are left out: to ask their questions again one by one takes longer.
        told = Evidence.at(place, size).told(name)
        searches = [new for new, old in zip(spec.searches(), told, strict=True) if not old.done]
        scheduler.run_searches(searches, *how, limits=spec.limits, store=store)


@dataclass(frozen=True)
class _MeasureJob:
    """A measurement that can travel to a worker."""

    name: str
    cell: Cell

    def run(self) -> Measurement:
        import torch

        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # each worker has a core, and sums come out the same everywhere
        try:
            started = time.perf_counter()
            values = MEASURES[self.name](*self.cell)
        finally:
            torch.set_num_threads(threads)
        return Measurement(
            measure=self.name,
            problem=self.cell.problem,
            seed=self.cell.seed,
            values=values,
            seconds=time.perf_counter() - started,
        )


def _measure(
    name: str,
    cells: list[Cell],
    place: Path,
    executor: Executor,
    progress: scheduler.ProgressCallback,
) -> None:
    """Take the readings that the folder does not have; each is safe once it is taken."""
    path = place / READINGS
    place.mkdir(parents=True, exist_ok=True)
    # The store's lock holds for its neighbour too.
    with Store(place / RECORDS).writing():
        known = {(each.measure, each.problem, each.seed) for each in read_readings(path)}
        pending = [cell for cell in cells if (name, *cell) not in known]
        waiting = {next(numbers): _MeasureJob(name, cell) for cell in pending}
        for number, job in waiting.items():
            executor.submit(number, job)
        with _open_at_the_end_of_a_line(path) as file:
            while waiting:
                for done in executor.finished(timeout=1.0):
                    if done.number not in waiting:
                        continue
                    if done.lost is not None:
                        raise ProblemError(
                            f"a measurement of {name} broke off: {done.lost}; run it again"
                        )
                    del waiting[done.number]
                    file.write(f"{done.result.to_json()}\n".encode())
                    os.fsync(file.fileno())
                    progress(len(pending) - len(waiting), len(pending))


def _open_at_the_end_of_a_line(path: Path) -> IO[bytes]:
    """Opened for adding lines; what a crash left of a line is cut off first."""
    file = path.open("ab+", buffering=0)
    file.seek(0)
    content = file.read()
    file.truncate(content.rfind(b"\n") + 1)
    return file
