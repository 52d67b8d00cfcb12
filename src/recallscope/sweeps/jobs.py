"""The job of running cells, as it travels to a worker."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from recallscope.cell import Cell, Settings
from recallscope.executors.base import Executor
from recallscope.executors.limits import LimitError, Limits
from recallscope.executors.registry import running
from recallscope.experiment.own import lost_record, own_record
from recallscope.experiment.run import (
    InfeasibleError,
    check_memory,
    check_run,
    failed_record,
    measure_record,
    run,
)
from recallscope.problem import Problem, ProblemError
from recallscope.record import Record, Status
from recallscope.validation.measures import check_measure, measured_record

_NEEDED = ("recallscope.sweeps.jobs", "recallscope.sweeps.sharded")


def cell_workers(
    executor: str | Executor, workers: int | None = None, address: str | None = None
) -> AbstractContextManager[Executor]:
    """An executor whose workers import what cells need before their first job, not in it."""
    return running(executor, workers, address, preload=_NEEDED)


def check_problem(problem: object, settings: Settings) -> None:
    """Raise unless this is a problem that can be run with these settings."""
    if not isinstance(problem, Problem):
        raise ProblemError(f"a cell is a Problem and a seed, not {problem!r:.60} and a seed")
    if settings.own is not None:
        return  # what it can run is for it to say
    if settings.measure is not None:
        check_measure(settings.measure)
    check_run(
        problem,
        engine=settings.engine_for(problem),
        test_samples=settings.test_samples,
        dtype=settings.dtype,
        device=settings.device,
        embeddings=settings.embeddings,
    )


@dataclass(frozen=True)
class RunCells:
    """Run cells one after another, each within the limits."""

    cells: tuple[Cell, ...]
    settings: Settings
    limits: Limits

    def run(self) -> list[Record]:
        """The records, in the order of the cells."""
        return [self._run(cell) for cell in self.cells]

    def _run(self, cell: Cell) -> Record:
        try:
            with self.limits.hold():
                record = self._experiment(cell)
        except LimitError as error:
            return self.failed(cell, str(error))
        limit = None
        if record.status is Status.FAILED and record.reason:
            limit = self.limits.exceeded(record.reason)
        return record if limit is None else replace(record, reason=limit)

    def _experiment(self, cell: Cell) -> Record:
        how = self.settings
        if how.own is not None:
            return own_record(how.own, *cell)
        if how.measure is not None:
            return measured_record(how.measure, *cell)
        return run(
            cell.problem,
            cell.seed,
            engine=how.engine_for(cell.problem),
            test_samples=how.test_samples,
            dtype=how.dtype,
            device=how.device,
            embeddings=how.embeddings,
        )

    def failed(self, cell: Cell, reason: str, status: Status = Status.FAILED) -> Record:
        """The record of a cell that something outside of it ended."""
        how = self.settings
        if how.own is not None:
            return lost_record(how.own, *cell, reason)
        if how.measure is not None:
            return replace(measure_record(how.measure, *cell, {}, reason, 0.0), status=status)
        return failed_record(
            cell.problem,
            cell.seed,
            reason,
            engine=how.engine_for(cell.problem),
            dtype=how.dtype,
            device=how.device,
            status=status,
        )

    def infeasible(self, cell: Cell, memory: float) -> Record:
        """The record of a cell that is not begun, as there are only so many bytes for it."""
        how = self.settings
        try:
            check_memory(
                cell.problem,
                engine=how.engine_for(cell.problem),
                test_samples=how.test_samples,
                dtype=how.dtype,
                memory=memory,
            )
        except InfeasibleError as error:
            return self.failed(cell, str(error), Status.INFEASIBLE)
        raise AssertionError("there is memory for it")
