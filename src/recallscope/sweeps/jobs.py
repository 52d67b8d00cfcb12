"""The job of running cells, as it is sent to a worker."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from recallscope.common.errors import ProblemError
from recallscope.common.status import Status
from recallscope.experiment import experiment
from recallscope.experiment.cell import Cell, Settings
from recallscope.experiment.own import lost_record, own_record
from recallscope.experiment.record import Record
from recallscope.problem.problem import Problem
from recallscope.sweeps.executors.limits import LimitError, Limits
from recallscope.sweeps.executors.workers import ExecutorLike, Workers, workers_of

_NEEDED = ("recallscope.sweeps.jobs", "recallscope.sweeps.sharded")
_NO_LIMITS = Limits()


def cell_workers(
    executor: ExecutorLike,
    workers: int | None = None,
    address: str | None = None,
    limits: Limits = _NO_LIMITS,
) -> AbstractContextManager[Workers]:
    """Workers that import what cells need before their first job."""
    return workers_of(executor, workers, address, limits, preload=_NEEDED)


def check_problem(problem: object, settings: Settings) -> None:
    """Raise unless this is a problem that can be run with these settings."""
    if not isinstance(problem, Problem):
        raise ProblemError(f"a cell is a Problem and a seed, not {problem!r:.60} and a seed")
    if settings.own is not None:
        return  # only the experiment knows what it can run
    experiment.check_run(problem, **settings.of_run(problem))


def cells_at_once(problem: Problem, settings: Settings) -> int:
    """How many seeds of a problem are run together."""
    if settings.own is not None:
        return 1
    at_once: int = problem.part("learner").at_once(problem)
    return at_once


@dataclass(frozen=True)
class RunCells:
    """Run cells one after another, each within the limit of memory; workers keep that of time."""

    cells: tuple[Cell, ...]
    settings: Settings
    limits: Limits

    def run(self) -> list[Record]:
        """The records, in the order of the cells."""
        records: list[Record] = []
        for together in self._groups():
            try:
                with self.limits.hold():
                    made = self._experiments(together)
            except LimitError as error:
                made = [self.failed(cell, str(error)) for cell in together]
            records += [self._limited(record) for record in made]
        return records

    def _groups(self) -> Iterator[tuple[Cell, ...]]:
        """Single cells, or groups of seeds of one problem that its learner runs together."""
        for problem, cells in itertools.groupby(self.cells, key=lambda cell: cell.problem):
            same, most = tuple(cells), cells_at_once(problem, self.settings)
            for first in range(0, len(same), most):
                yield same[first : first + most]

    def _limited(self, record: Record) -> Record:
        limit = None
        if record.status is Status.FAILED and record.reason:
            limit = self.limits.exceeded(record.reason)
        return record if limit is None else replace(record, reason=limit)

    def _experiments(self, cells: tuple[Cell, ...]) -> list[Record]:
        how = self.settings
        if how.own is not None:
            return [own_record(how.own, *cell) for cell in cells]
        problem = cells[0].problem
        return experiment.run_together(
            problem, [cell.seed for cell in cells], **how.of_run(problem)
        )

    def failed(self, cell: Cell, reason: str, status: Status = Status.FAILED) -> Record:
        """The record of a cell that was ended from outside."""
        how = self.settings
        if how.own is not None:
            return lost_record(how.own, *cell, reason)
        engine = how.engine_for(cell.problem)
        return experiment.failed_record(
            *cell, reason, status, engine=engine, dtype=how.dtype, device=how.device
        )

    def infeasible(self, cell: Cell, memory: float) -> Record:
        """The record of a cell that is not started, as it needs more than `memory` bytes."""
        how = self.settings
        try:
            experiment.check_memory(
                cell.problem,
                engine=how.engine_for(cell.problem),
                test_samples=how.test_samples,
                dtype=how.dtype,
                memory=memory,
            )
        except experiment.InfeasibleError as error:
            return self.failed(cell, str(error), Status.INFEASIBLE)
        raise AssertionError("there is memory for it")
