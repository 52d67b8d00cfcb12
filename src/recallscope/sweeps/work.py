"""The work of running cells, as it travels to a worker."""

from __future__ import annotations

from dataclasses import dataclass

from recallscope import experiment
from recallscope.problem import Problem, ProblemError
from recallscope.record import Record
from recallscope.sweeps.cell import Cell, Settings
from recallscope.sweeps.limits import Limits


def check_problem(problem: object, settings: Settings) -> None:
    """Raise unless this is a problem that can be run with these settings."""
    if not isinstance(problem, Problem):
        raise ProblemError(f"a cell is a Problem and a seed, not {problem!r:.60} and a seed")
    experiment.check(
        problem,
        engine=settings.engine_for(problem),
        test_samples=settings.test_samples,
        dtype=settings.dtype,
        device=settings.device,
    )


@dataclass(frozen=True)
class RunCells:
    """Run cells one after another; a piece of work that travels to a worker."""

    cells: tuple[Cell, ...]
    settings: Settings
    limits: Limits

    def do(self) -> list[Record]:
        """The records, in the order of the cells."""
        return [self._run(cell) for cell in self.cells]

    def _run(self, cell: Cell) -> Record:
        how = self.settings
        return self.limits.hold(
            lambda: experiment.run(
                cell.problem,
                cell.seed,
                engine=how.engine_for(cell.problem),
                test_samples=how.test_samples,
                dtype=how.dtype,
                device=how.device,
            ),
            lambda reason: self.failed(cell, reason),
        )

    def failed(self, cell: Cell, reason: str) -> Record:
        """The record of a cell that something outside of it ended."""
        how = self.settings
        return experiment.failed(
            cell.problem,
            cell.seed,
            reason,
            engine=how.engine_for(cell.problem),
            dtype=how.dtype,
            device=how.device,
        )
