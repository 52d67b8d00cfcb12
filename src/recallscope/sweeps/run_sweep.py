"""A sweep: every cell that the store has no record of is run, and its record kept."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from recallscope.common.checks import LARGEST_SEED, whole_number
from recallscope.common.errors import ProblemError
from recallscope.common.interrupts import interrupts_obeyed
from recallscope.common.status import Status
from recallscope.experiment.cell import Cell, Settings
from recallscope.experiment.record import Record
from recallscope.problem.problem import Problem
from recallscope.sweeps.dispatch import Finished, run_cells, share_maker
from recallscope.sweeps.executors.limits import Limits
from recallscope.sweeps.executors.workers import ExecutorLike, Workers, check_executor
from recallscope.sweeps.job_array import check_part, part_of
from recallscope.sweeps.jobs import cell_workers, check_problem
from recallscope.sweeps.sharded import run_sharded
from recallscope.sweeps.sources import check_sources
from recallscope.sweeps.store.cell_keys import CellKeys
from recallscope.sweeps.store.index import RecordIndex
from recallscope.sweeps.store.store import Store
from recallscope.sweeps.sweep_result import SweepResult
from recallscope.sweeps.writer import RecordWriter


@dataclass
class SweepProgress:
    """How far a sweep has come."""

    cells: int
    known: int
    seconds: float
    """Predicted for all that was to be run."""
    done: int = 0
    failed: int = 0
    seconds_done: float = 0.0
    busy: dict[str, float] = field(default_factory=dict)
    """Seconds that each worker has spent on cells, without lost ones."""
    workers: int = 1
    started: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        """Seconds since the first cell."""
        return time.monotonic() - self.started


class SweepPlan(NamedTuple):
    """The cells without a record, each once."""

    cells: int
    known: int
    statuses: Counter[str]
    pending: list[Cell]
    problems: tuple[Problem, ...] = ()


def run_sweep(
    cells: Iterable[tuple[Problem, int]],
    store: str | Path | Store,
    settings: Settings,
    limits: Limits,
    *,
    executor: ExecutorLike = "serial",
    workers: int | None = None,
    address: str | None = None,
    shards: int | None = None,
    part: tuple[int, int] | None = None,
    fail_fast: bool = False,
    progress: Callable[[SweepProgress], None] = lambda progress: None,
    callback: Callable[[Record], None] | None = None,
) -> SweepResult:
    """Run the cells that a store has no record of, and keep their records there.

    `recallscope.sweep` explains the arguments. Here `progress` receives a `SweepProgress`, which
    also counts failures and shows how busy each worker is.
    """
    settings = replace(settings, sharded=shards is not None)
    check_sharded(settings, limits)
    check_executor(executor, workers, address, limits)
    store = store if isinstance(store, Store) else Store(store)
    with interrupts_obeyed():
        index = store.index()
        plan = plan_of(cells, settings, index, part)
        check_sources(store, settings.own, plan.problems)
        share = share_maker(plan.pending, settings)
        seconds = sum(share(cell.problem) for cell in plan.pending)
        state = SweepProgress(cells=plan.cells, known=plan.known, seconds=seconds)
        found = plan.statuses
        if plan.pending:
            with (
                cell_workers(executor, workers, address, limits) as pool,
                RecordWriter(store, settings, index) as writer,
            ):
                state.workers = pool.count

                def pending() -> Iterator[Cell]:
                    """Cells that nobody else has run by now."""
                    for cell in plan.pending:
                        status = writer.status(cell)
                        if status is None:
                            yield cell
                        else:
                            state.known += 1
                            state.seconds -= share(cell.problem)
                            found[status] += 1

                if shards is None:
                    results = run_cells(pending(), pool, settings, limits, state.seconds)
                else:

                    def part_done(cell: Cell, done: int, total: int) -> None:
                        seconds_done = state.seconds_done + done / total * share(cell.problem)
                        progress(replace(state, seconds_done=seconds_done))

                    results = _in_shards(pending(), pool, settings, shards, part_done)
                for done in results:
                    writer.keep(done)
                    account(state, done, share)
                    found.update(str(record.status) for record in done.records)
                    progress(state)
                    done.tell(callback)
                    if fail_fast and state.failed:
                        break
        return SweepResult(
            cells=plan.cells,
            known=state.known,
            ran=state.done,
            by_status=dict(sorted(found.items())),
            seconds=state.elapsed,
            store=store.place,
            problems=plan.problems,
            keys=CellKeys(settings),
            kept_in=store,
        )


def check_sharded(settings: Settings, limits: Limits) -> None:
    """Raise if other settings do not allow cutting cells over workers."""
    if settings.sharded and settings.own is not None:
        raise ProblemError("a custom experiment is not cut over workers; leave shards out")
    if settings.sharded and limits != Limits():
        raise ProblemError("limits apply to a cell in one worker; leave them out, or the shards")
    if settings.sharded and settings.engine == "counts":
        raise ProblemError("tables of counts are not sent between workers; use engine stream")


def plan_of(
    cells: Iterable[tuple[Problem, int]],
    settings: Settings,
    index: RecordIndex,
    part: tuple[int, int] | None = None,
) -> SweepPlan:
    """Check every problem, and leave out cells that are known or duplicates."""
    if part is not None:  # parts must not depend on what is known
        check_part(part)
        cells = part_of(plan_of(cells, settings, RecordIndex()).pending, settings, part)
    keys = CellKeys(settings)
    seen: dict[tuple[object, ...], set[int]] = {}
    problems: dict[Problem, None] = {}
    pending, found = [], Counter[str]()
    for problem, asked in _by_problem(cells):
        check_problem(problem, settings)
        problems[problem] = None
        alike = seen.setdefault((problem.metrics, keys.digest(problem)), set())
        seeds = [seed for seed in dict.fromkeys(_checked(asked)) if seed not in alike]
        alike.update(seeds)
        answers = index.answers(keys, problem, seeds)
        both = zip(seeds, answers, strict=True)
        pending += [Cell(problem, seed) for seed, status in both if status is None]
        for status in filter(None, set(answers)):
            found[status] += answers.count(status)
    return SweepPlan(sum(map(len, seen.values())), found.total(), found, pending, tuple(problems))


def _by_problem(cells: Iterable[tuple[Problem, int]]) -> Iterator[tuple[Problem, list[int]]]:
    """Each problem with the seeds that come with it one after another, as a million may."""
    for problem, alike in groupby(map(_pair, cells), itemgetter(0)):
        yield problem, [seed for _, seed in alike]


def _pair(cell: Any) -> tuple[Problem, int]:
    try:
        problem, seed = cell
    except (TypeError, ValueError):
        raise ProblemError(f"a cell is a Problem and a seed, not {cell!r:.60}") from None
    return problem, seed


def _checked(seeds: list[int]) -> list[int]:
    if set(map(type, seeds)) == {int} and 0 <= min(seeds) <= max(seeds) <= LARGEST_SEED:
        return seeds
    return [whole_number("seed", seed, 0, LARGEST_SEED) for seed in seeds]


def account(state: SweepProgress, done: Finished, share: Callable[[Problem], float]) -> None:
    """Add finished cells to the progress of a sweep."""
    if not done.records:
        return
    if not state.done:  # the start of the workers does not count
        took = sum(record.provenance.elapsed_seconds for record in done.records)
        state.started = time.monotonic() - took
    state.done += len(done.records)
    state.failed += sum(record.status is Status.FAILED for record in done.records)
    state.seconds_done += sum(share(cell.problem) for cell in done.cells)
    busy = sum(record.provenance.elapsed_seconds for record in done.records)
    # Moved to the end, so the workers dropped first are those without recent results.
    state.busy[done.worker] = state.busy.pop(done.worker, 0.0) + busy
    while len(state.busy) > max(state.workers, 1):
        del state.busy[next(iter(state.busy))]


def _in_shards(
    cells: Iterable[Cell],
    pool: Workers,
    settings: Settings,
    shards: int,
    part_done: Callable[[Cell, int, int], None],
) -> Iterator[Finished]:
    """One cell after another, each by all workers."""
    how = {name: getattr(settings, name) for name in ("test_samples", "dtype", "device")}
    for cell in cells:
        record = run_sharded(*cell, pool, shards, progress=partial(part_done, cell), **how)
        yield Finished((cell,), [record], "all workers")
