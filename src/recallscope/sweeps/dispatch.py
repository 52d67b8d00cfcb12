"""Keep an executor busy: many cells per task, few tasks under way, lost ones again."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nlargest
from typing import NamedTuple

from recallscope.common.status import Status
from recallscope.experiment.cell import MOST_PROBLEMS, Cell, Settings
from recallscope.experiment.record import Record
from recallscope.model.cost import Cost, unknown_cost
from recallscope.problem.problem import Problem
from recallscope.sweeps.executors.limits import Limits
from recallscope.sweeps.executors.workers import Workers
from recallscope.sweeps.jobs import RunCells, cells_at_once
from recallscope.sweeps.lost_workers import LostTasks, Task
from recallscope.three_step.cost import predict_cost

_TASK_SECONDS = 0.25  # much more than sending takes, and little to lose
_MOST_CELLS = 1000
_PATIENCE = 0.2  # seconds to wait for workers at a time


class Finished(NamedTuple):
    """Cells that came back from a worker, with their records."""

    cells: tuple[Cell, ...]
    records: list[Record]
    worker: str

    def tell(self, callback: Callable[[Record], None] | None) -> None:
        """Call `callback` with each record."""
        if callback is not None:
            for record in self.records:
                callback(record)


def run_cells(
    cells: Iterable[Cell | None],
    workers: Workers,
    settings: Settings,
    limits: Limits,
    seconds: float = math.inf,
) -> Iterator[Finished]:
    """Records of cells as they come, in any order.

    `cells` may be infinite, and may yield None where the next cell depends on records to come.
    While no records come, empty results are yielded for a display of progress. `seconds` is the
    prediction for all cells, if known. The last tasks are short, so no worker waits long for the
    others.

    >>> from recallscope.sweeps.executors.workers import workers_of
    >>> cells = [Cell(Problem(vocab=64, samples=512, dim=16, length=4), seed) for seed in range(3)]
    >>> with workers_of("serial") as workers:
    ...     sum(len(done.records) for done in run_cells(cells, workers, Settings(), Limits()))
    3
    """
    source = _Source(iter(cells), settings, seconds, workers, alone=limits.seconds is not None)
    under_way: dict[int, Task] = {}
    lost = LostTasks()
    while True:
        while len(under_way) < workers.under_way:
            if alone := lost.suspects:
                task = None if under_way else lost.take_suspect()
            else:
                task = lost.take() or source.take()
            if task is None:
                break
            if not _fits(task, under_way.values(), workers):
                lost.put_back(task)
                break
            number = workers.submit(RunCells(task.cells, settings, limits))
            under_way[number] = task
            if alone:
                lost.on_trial(number)
                break
        if source.too_large:
            job = RunCells(tuple(source.too_large), settings, limits)
            source.too_large.clear()
            records = [job.infeasible(cell, workers.memory) for cell in job.cells]
            yield Finished(job.cells, records, "")
            continue
        if not under_way:
            if source.ended:
                return
            yield Finished((), [], "")  # the caller may now answer what the next cell waits for
            continue
        finished = workers.finished(_PATIENCE)
        if not finished:
            yield Finished((), [], "")  # for a display of progress
        for number, answer in finished:
            task = under_way.pop(number)
            if answer.lost is None and not answer.suspect:
                records = answer.value()
                source.learn(task, records)
                yield Finished(task.cells, records, answer.worker)
            elif (reason := lost.lost(number, task, answer)) is not None:
                job = RunCells(task.cells, settings, limits)
                records = [job.failed(cell, reason) for cell in task.cells]
                yield Finished(task.cells, records, answer.worker)


def _fits(task: Task, under_way: Collection[Task], workers: Workers) -> bool:
    """Whether there is memory for one more task; each worker runs one at a time."""
    if not under_way or math.isinf(workers.memory):
        return True
    memory = [task.memory, *(other.memory for other in under_way)]
    return sum(nlargest(workers.count, memory)) <= workers.memory


@dataclass
class _Source:
    """Cells cut into tasks of about equal time, estimated from the cells so far.

    With `alone`, a task is one cell, since a time limit applies to a task.
    """

    cells: Iterator[Cell | None]
    settings: Settings
    left: float  # seconds, as predicted
    workers: Workers
    alone: bool
    pace: float | None = None  # seconds taken for each second predicted
    too_large: list[Cell] = field(default_factory=list)  # for any worker
    ended: bool = False

    @cached_property
    def _cost(self) -> Callable[[Problem], Cost]:
        return cost_maker(self.settings)

    def take(self) -> Task | None:
        """The next task, or None if there is no cell at present or at all."""
        taken: list[Cell] = []
        seconds, memory = 0.0, 0.0
        # The first task is one cell, to estimate the time of the others.
        most = 1 if self.pace is None or self.alone else _MOST_CELLS
        enough = min(_TASK_SECONDS / (self.pace or 1), self.left / (3 * self.workers.count))
        together = 1
        while len(taken) < max(most, together):
            if taken and seconds >= enough and len(taken) >= together:
                break
            try:
                cell = next(self.cells)
            except StopIteration:
                self.ended = True
                break
            if cell is None:
                break
            cost = self._cost(cell.problem)
            if cost.memory_bytes > self.workers.memory:
                self.too_large.append(cell)
                break
            if not taken and not self.alone:  # cells that run together go to one worker
                together = cells_at_once(cell.problem, self.settings)
            taken.append(cell)
            seconds += cost.seconds
            memory = max(memory, cost.memory_bytes)
        self.left = max(self.left - seconds, 0.0)
        return Task(tuple(taken), seconds, memory) if taken else None

    def learn(self, task: Task, records: list[Record]) -> None:
        """Update the pace from the time of a task, if all of its cells are ok."""
        if not all(record.status is Status.OK for record in records):
            return
        took = sum(record.provenance.elapsed_seconds for record in records)
        pace = took / task.seconds
        self.pace = pace if self.pace is None else 0.8 * self.pace + 0.2 * pace


def cost_maker(settings: Settings) -> Callable[[Problem], Cost]:
    """A function for the predicted cost of a problem, with a cache as large as a plan."""
    known: dict[int, tuple[Problem, Cost]] = {}  # by identity: a hash would take longer

    def predicted(problem: Problem) -> Cost:
        if settings.own is not None:
            return unknown_cost("own")
        engine = settings.engine_for(problem)
        return predict_cost(problem, engine, settings.dtype, settings.test_samples)

    def cost_of(problem: Problem) -> Cost:
        if id(problem) not in known:
            if len(known) >= MOST_PROBLEMS:
                known.clear()
            known[id(problem)] = problem, predicted(problem)
        return known[id(problem)][1]

    return cost_of


def share_maker(cells: Iterable[Cell], settings: Settings) -> Callable[[Problem], float]:
    """The weight of each cell in progress: predicted seconds, or 1 each if some are unknown."""
    cost = cost_maker(settings)
    if all(cost(cell.problem).known for cell in cells):
        return lambda problem: cost(problem).seconds
    return lambda problem: 1.0
