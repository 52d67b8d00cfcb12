"""Run what claims rest on, at one size: every run that is not in the folder yet."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from recallscope.paper.evidence import READINGS, RECORDS, Evidence, Reading, read_readings
from recallscope.paper.measures import MEASURES
from recallscope.paper.sizes import sweep_of
from recallscope.problem import ProblemError
from recallscope.sweeps import gather
from recallscope.sweeps.cell import Cell
from recallscope.sweeps.executor import Executor, numbers
from recallscope.sweeps.store import Store


def carry_out(
    name: str, size: str, place: Path, executor: Executor, progress: gather.Progress
) -> None:
    """Run one sweep of the claims. Interrupted and called again, it goes on where it was."""
    spec = sweep_of(name, size)
    if name in MEASURES:
        _measure(name, list(spec.cells()), place, executor, progress)
        return
    store, how = Store(place / RECORDS), (executor, spec.settings, progress)
    if spec.critical is None:
        gather.run_all(list(spec.cells()), *how, limits=spec.limits, store=store)
    else:
        # Those that are done are left out: to ask their questions again one by one takes longer.
        told = Evidence.at(place, size).told(name)
        searches = [new for new, old in zip(spec.searches(), told, strict=True) if not old.done]
        gather.carry_out(searches, *how, limits=spec.limits, store=store)


@dataclass(frozen=True)
class _Measurement:
    """A measurement that can travel to a worker."""

    name: str
    cell: Cell

    def do(self) -> Reading:
        import torch

        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # each worker has a core, and sums come out the same everywhere
        try:
            started = time.perf_counter()
            values = MEASURES[self.name](*self.cell)
        finally:
            torch.set_num_threads(threads)
        return Reading(
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
    progress: gather.Progress,
) -> None:
    """Take the readings that the folder does not have; each is safe once it is taken."""
    path = place / READINGS
    place.mkdir(parents=True, exist_ok=True)
    # The store's lock holds for its neighbour too.
    with Store(place / RECORDS).writing():
        known = {(each.measure, each.problem, each.seed) for each in read_readings(path)}
        pending = [cell for cell in cells if (name, *cell) not in known]
        waiting = {next(numbers): _Measurement(name, cell) for cell in pending}
        for number, work in waiting.items():
            executor.submit(number, work)
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
