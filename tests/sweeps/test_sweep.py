"""A sweep runs cells that the store lacks, with the same bits on any executor, and resumes."""

from __future__ import annotations

import os
import re
import resource
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from one_by_one import OneByOne
from proc import command, listening, tree
from sound_stores import is_sound, rows_of

from recallscope import CriticalSearch, Problem, ProblemError, Status, Store, run, sweep
from recallscope.experiment.cell import Cell, Settings
from recallscope.measure.searches import run_searches
from recallscope.sweeps import dispatch, writer
from recallscope.sweeps.dispatch import run_cells
from recallscope.sweeps.executors.job import Answer, run_job
from recallscope.sweeps.executors.limits import Limits
from recallscope.sweeps.executors.workers import workers_of
from recallscope.sweeps.jobs import RunCells
from recallscope.sweeps.many_runs import run_all
from recallscope.sweeps.store.cell_keys import CellKeys

PROBLEM = Problem(vocab=32, samples=64, dim=16, length=4)
CELLS = [(PROBLEM.replace(dim=dim), seed) for dim in (8, 16, 24) for seed in range(6)]
HOW = Settings(test_samples=64)


def results(records):
    found = [record.result() for record in records]
    return sorted(found, key=lambda fields: (fields["problem_key"], fields["seed"]))


@pytest.fixture(scope="module")
def undisturbed():
    return results(run(*cell, dtype="float32", test_samples=64) for cell in CELLS)


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_every_executor_gives_the_same_bits(executor, tmp_path, undisturbed):
    found = sweep(CELLS, tmp_path, executor=executor, workers=None, test_samples=64)
    assert (found.cells, found.known, found.ran, found.by_status) == (18, 0, 18, {"ok": 18})
    assert results(Store(tmp_path).records()) == undisturbed
    assert is_sound(Store(tmp_path))


def test_a_record_present_is_never_run_again(tmp_path, monkeypatch):
    sweep(CELLS[:10], tmp_path, test_samples=64)
    ran = []
    true_run = RunCells._experiments
    monkeypatch.setattr(
        RunCells, "_experiments", lambda self, cells: ran.extend(cells) or true_run(self, cells)
    )
    found = sweep(CELLS, tmp_path, test_samples=64)
    assert (found.known, found.ran) == (10, 8)
    assert set(ran) == set(CELLS[10:])


def test_nothing_is_started_if_all_is_known(tmp_path, monkeypatch):
    sweep(CELLS[:2], tmp_path, test_samples=64)
    monkeypatch.setattr("recallscope.sweeps.run_sweep.cell_workers", None)
    assert sweep(CELLS[:2], tmp_path, executor="processes", test_samples=64).ran == 0


def test_equal_cells_count_once_from_a_generator(tmp_path):
    twice = ((problem.replace(dim=problem.dim), seed) for problem, seed in [*CELLS, *CELLS])
    found = sweep(twice, tmp_path, test_samples=64)
    assert (found.cells, found.ran) == (18, 18)


def test_a_key_has_all_that_a_record_depends_on():
    cell = Cell(PROBLEM, 0)
    keys = {
        CellKeys(settings)(cell)
        for settings in (
            HOW,
            replace(HOW, dtype="float64"),
            replace(HOW, test_samples=65),
            replace(HOW, engine="stream"),
            replace(HOW, engine="counts"),
            replace(HOW, device="cuda"),
        )
    }
    assert len(keys) == 5  # auto is one of stream and counts
    assert CellKeys(HOW)(cell) != CellKeys(HOW)(Cell(PROBLEM, 1))


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([("dim", 0)], "a cell is a Problem and a seed, not 'dim' and a seed"),
        ([PROBLEM], "a cell is a Problem and a seed, not Problem(vocab=32"),
        ([(PROBLEM, 1, 2)], "a cell is a Problem and a seed"),
        ([(PROBLEM, True)], "seed must be a whole number from 0"),
        ([(PROBLEM, -1)], "seed must be a whole number from 0"),
        ([(PROBLEM.replace(embedding="arrays:" + "0" * 16), 0)], "arrays"),
    ],
)
def test_bad_cells_are_refused_before_anything_runs(cells, message, tmp_path):
    with pytest.raises(ProblemError, match=re.escape(message)):
        sweep([*CELLS, *cells], tmp_path)
    assert rows_of(Store(tmp_path)) == 0


def test_there_is_no_such_executor(tmp_path):
    with pytest.raises(ProblemError, match="one of serial, processes, ray, not 'dask'"):
        sweep(CELLS, tmp_path, executor="dask")
    with pytest.raises(ProblemError, match="an address is for the executor ray"):
        sweep(CELLS, tmp_path, executor="processes", address="127.0.0.1:6379")
    with pytest.raises(ProblemError, match="the serial executor has one worker"):
        sweep(CELLS, tmp_path, workers=3)
    with pytest.raises(ProblemError, match="workers must be a whole number from 1"):
        sweep(CELLS, tmp_path, executor="processes", workers=-1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"time_limit": 0}, "the time limit must be above 0 and at most 1e9 seconds, not 0"),
        ({"time_limit": float("nan")}, "the time limit must be above 0"),
        ({"memory_limit": 1}, "the memory limit must be at least 67108864 bytes, not 1"),
        ({"test_samples": 0.5}, "test_samples must be a whole number from 1"),
        ({"shards": 2, "time_limit": 1}, "leave them out, or the shards"),
        ({"shards": 2, "engine": "counts"}, "tables of counts are not sent between workers"),
    ],
)
def test_impossible_options_are_refused_before_anything_runs(how, message, tmp_path):
    with pytest.raises(ProblemError, match=re.escape(message)):
        sweep(CELLS, tmp_path, **how)
    assert not list(tmp_path.iterdir())


def test_numbers_that_are_whole_will_do(tmp_path):
    assert sweep(CELLS[:1], tmp_path, test_samples=64.0).by_status == {"ok": 1}
    assert sweep(CELLS[:1], tmp_path, test_samples=64).known == 1


def test_processes_open_no_port(tmp_path):
    found = []

    def look(done, total):
        found.append((len(tree(os.getpid())), listening([os.getpid(), *tree(os.getpid())])))

    before = listening([os.getpid()])
    sweep(CELLS, tmp_path, executor="processes", workers=2, test_samples=64, progress=look)
    assert max(children for children, _ in found) >= 2
    assert all(sockets == before for _, sockets in found)


# Faults.


class Losing(OneByOne):
    """Loses the worker of every job that `lost` says."""

    def __init__(self, lost):
        super().__init__()
        self.lost = lost

    def answer(self, number, job):
        if self.lost(number, job):
            return Answer("gone", lost="its worker ended with SIGKILL(-9)")
        return run_job(job)


def records_of(workers):
    cells = [Cell(*cell) for cell in CELLS]
    return [r for done in run_cells(cells, workers, HOW, Limits()) for r in done.records]


def test_lost_tasks_are_done_again(undisturbed):
    assert results(records_of(Losing(lambda number, _: number % 3 == 0))) == undisturbed


def test_a_cell_that_kills_its_worker_fails_alone():
    """It is found among the others of its task, and is not retried without end."""
    tries = Counter()

    def deadly(number, job):
        tries.update(job.cells)
        return CELLS[7] in job.cells

    records = records_of(Losing(deadly))
    (failed,) = (record for record in records if record.status is Status.FAILED)
    assert (len(records), failed.problem, failed.seed) == (18, *CELLS[7])
    assert failed.reason == "lost 5 times: its worker ended with SIGKILL(-9)"
    assert tries[CELLS[7]] <= 5 + 5  # alone, and with others during the search for it


class Breaking(OneByOne):
    """Whenever a job has the deadly cell, all that is under way is lost with it."""

    def __init__(self):
        super().__init__(2)
        self.failing = Counter()

    def finished(self, timeout):
        if not any(CELLS[7] in job.cells for _, job in self.waiting):
            return super().finished(timeout)
        lost = Answer("gone", lost="the pool broke", suspect=len(self.waiting) > 1)
        self.failing.update(cell for _, job in self.waiting for cell in job.cells)
        answers = [(number, lost) for number, _ in self.waiting]
        self.waiting.clear()
        return answers


def test_cells_that_shared_a_pool_with_a_deadly_one_are_not_blamed():
    workers = Breaking()
    records = records_of(workers)
    (failed,) = (record for record in records if record.status is Status.FAILED)
    assert (len(records), failed.problem, failed.seed) == (18, *CELLS[7])
    assert failed.reason == "lost 5 times: the pool broke"
    del workers.failing[CELLS[7]]
    assert max(workers.failing.values()) <= 5


@pytest.mark.slow
def test_killed_processes_are_replaced(tmp_path, undisturbed):
    killed = []

    def kill(done, total):
        workers = [pid for pid in tree(os.getpid()) if "loky.backend.popen" in command(pid)]
        if done and len(killed) < 6 and workers:
            killed.append(workers[len(killed) % len(workers)])
            os.kill(killed[-1], signal.SIGKILL)

    found = sweep(CELLS, tmp_path, executor="processes", workers=2, test_samples=64, progress=kill)
    assert len(set(killed)) >= 3
    assert found.by_status == {"ok": 18}
    assert results(Store(tmp_path).records()) == undisturbed


def test_a_disk_that_fills_up_costs_only_what_was_not_written(tmp_path, undisturbed, monkeypatch):
    monkeypatch.setattr(writer, "_FIRST_COMMIT", 0)
    monkeypatch.setattr(writer, "_BETWEEN_COMMITS", 0)
    monkeypatch.setattr(dispatch, "_MOST_CELLS", 2)
    append, count = Store.append, []

    def full(store, kept):
        count.append(1)
        if len(count) == 4:
            raise OSError(28, "No space left on device")
        append(store, kept)

    monkeypatch.setattr(Store, "append", full)
    with pytest.raises(OSError, match="No space left"):
        sweep(CELLS, tmp_path, test_samples=64)
    assert 1 <= rows_of(Store(tmp_path)) < 18
    sweep(CELLS, tmp_path, test_samples=64)
    assert results(Store(tmp_path).records()) == undisturbed


def test_a_store_that_nobody_may_write_to_serves_a_sweep_that_is_done(tmp_path, monkeypatch):
    cells = [(PROBLEM, seed) for seed in range(2)]
    sweep(cells, tmp_path)

    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert sweep(cells, tmp_path).ran == 0
    with pytest.raises(ProblemError, match="cannot be written to: it is read-only"):
        sweep([*cells, (PROBLEM, 2)], tmp_path)


def test_an_interrupt_while_writing_doubles_nothing(tmp_path, undisturbed, monkeypatch):
    """It comes after the commit, and before the index was updated."""
    append = Store.append

    def interrupted(store, kept):
        append(store, kept)
        if kept:
            raise KeyboardInterrupt

    monkeypatch.setattr(Store, "append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep(CELLS, tmp_path, test_samples=64)
    monkeypatch.undo()
    assert is_sound(Store(tmp_path))
    sweep(CELLS, tmp_path, test_samples=64)
    assert results(Store(tmp_path).records()) == undisturbed


# Limits.


def test_a_cell_that_takes_too_long_has_failed(tmp_path):
    long = PROBLEM.replace(samples=10**9, vocab=2000)
    found = sweep([(PROBLEM, 0), (long, 0), (PROBLEM, 1)], tmp_path, time_limit=2)
    assert found.by_status == {"failed": 1, "ok": 2}
    (failed,) = (r for r in Store(tmp_path).records() if r.status is Status.FAILED)
    assert (failed.problem, failed.reason) == (long, "took longer than the limit of 2 s")
    assert sweep([(long, 0)], tmp_path, time_limit=100).ran == 0  # not until it is dropped


def test_a_cell_that_needs_too_much_memory_has_failed(tmp_path):
    large = PROBLEM.replace(vocab=20_000, dim=1000)
    found = sweep([(PROBLEM, 0), (large, 0)], tmp_path, executor="processes", memory_limit=1e8)
    assert found.by_status == {"failed": 1, "ok": 1}
    (failed,) = (r for r in Store(tmp_path).records() if r.status is Status.FAILED)
    assert failed.reason == "needed more than the limit of 0.0931 GiB of memory"


def test_a_limit_of_memory_leaves_nothing_behind():
    memory = resource.getrlimit(resource.RLIMIT_DATA)
    cells = (Cell(PROBLEM, 0),)
    (record,) = RunCells(cells, HOW, Limits(memory=2e9)).run()
    assert record.status is Status.OK
    assert resource.getrlimit(resource.RLIMIT_DATA) == memory


def test_fail_fast_stops_and_keep_going_does_not(tmp_path, monkeypatch):
    monkeypatch.setattr(dispatch, "_MOST_CELLS", 1)
    broken = [(PROBLEM.replace(regime="literal", eta=1e37, gamma=1e37), s) for s in range(3)]
    received = []
    found = sweep([*broken, *CELLS], tmp_path / "a", fail_fast=True, callback=received.append)
    assert found.by_status == {"failed": 1}
    assert "overflowed" in received[-1].reason
    found = sweep([*broken, *CELLS], tmp_path / "b", test_samples=64)
    assert found.by_status == {"failed": 3, "ok": 18}


def test_an_executor_works_after_a_sweep_that_was_stopped(tmp_path, undisturbed):
    """Late results are not taken for those of the next sweep."""
    broken = [(PROBLEM.replace(regime="literal", eta=1e37, gamma=1e37), s) for s in range(9)]
    with ThreadPoolExecutor(2) as executor:
        sweep(broken, tmp_path / "a", executor=executor, fail_fast=True, test_samples=64)
        sweep(CELLS, tmp_path / "b", executor=executor, test_samples=64)
    assert results(Store(tmp_path / "b").records()) == undisturbed


# Dispatching.


def test_tiny_cells_travel_many_to_a_task_and_large_ones_alone(monkeypatch):
    """The time that a task may take is set to a value that suits slow and fast machines."""
    sizes = []

    class Watching(OneByOne):
        def submit(self, job):
            sizes.append(len(job.cells))
            return super().submit(job)

    cells = [Cell(PROBLEM, seed) for seed in range(100)]
    monkeypatch.setattr("recallscope.sweeps.dispatch._TASK_SECONDS", 60.0)
    assert sum(len(done.records) for done in run_cells(cells, Watching(), HOW, Limits())) == 100
    assert sizes[0] == 1
    assert max(sizes) > 20
    sizes.clear()
    monkeypatch.setattr("recallscope.sweeps.dispatch._TASK_SECONDS", 1e-6)
    list(run_cells(cells[:3], Watching(), HOW, Limits()))
    assert sizes == [1, 1, 1]


@pytest.mark.slow
def test_few_tasks_are_under_way_and_no_more_than_memory_allows():
    cells = [Cell(PROBLEM, seed) for seed in range(400)]
    roomy, cramped = OneByOne(4, 1e12), OneByOne(4, 5e8)
    for executor in (roomy, cramped):
        assert sum(len(d.records) for d in run_cells(cells, executor, HOW, Limits())) == 400
    assert (roomy.most, cramped.most) == (8, 1)


def test_the_time_of_cells_that_do_not_run_is_no_estimate_for_others():
    sizes = []

    class Watching(OneByOne):
        def submit(self, job):
            sizes.append(len(job.cells))
            return super().submit(job)

    huge = PROBLEM.replace(vocab=10**6, dim=10**6)
    cells = [*(Cell(huge, s) for s in range(5)), *(Cell(PROBLEM, s) for s in range(300))]
    list(run_cells(cells, Watching(), HOW, Limits()))
    assert max(sizes) < 200


def test_the_driver_does_not_read_ahead():
    """Cells are taken from an infinite generator only as fast as they are run."""
    taken = []

    def without_end():
        seed = 0
        while True:
            taken.append(seed)
            yield Cell(PROBLEM, seed)
            seed += 1

    done = 0
    for finished in run_cells(without_end(), OneByOne(), HOW, Limits()):
        done += len(finished.records)
        assert len(taken) <= done + 2 * 1000
        if done > 100:
            break


def test_runs_come_back_in_the_order_asked(tmp_path):
    store = Store(tmp_path)
    backwards = CELLS[::-1]
    for _ in range(2):
        with workers_of("processes", 2) as executor:
            records = run_all(backwards, executor, HOW, lambda *done: None, store=store)
        assert [(record.problem, record.seed) for record in records] == backwards
    assert rows_of(store) == 18


def searches():
    problems = [PROBLEM.replace(vocab=64, dim=dim) for dim in (40, 48, 64)]
    return [
        CriticalSearch(problem, budget=12, first_seed=100 * number)
        for number, problem in enumerate(problems)
    ]


def test_searches_find_the_same_alone_together_and_resumed(tmp_path):
    alone = searches()
    for search in alone:
        while not search.done:
            search.tell([run(*ask, dtype="float32", test_samples=64) for ask in search.ask()])
    expected = [search.result().to_dict() for search in alone]
    store = Store(tmp_path)

    class StopError(Exception):
        pass

    def stop(done, total):
        if done > 12:
            raise StopError

    with pytest.raises(StopError):
        run_searches(searches(), OneByOne(), HOW, stop, store=store)
    kept = rows_of(store)
    assert kept > 0
    for executor in ("serial", "processes"):
        together = searches()
        with workers_of(executor) as pool:
            run_searches(together, pool, HOW, lambda *done: None, store=store)
        assert [search.result().to_dict() for search in together] == expected
    assert is_sound(store)
    assert rows_of(store) == sum(search.evaluations for search in alone)


def test_searches_of_one_problem_share_what_was_run(tmp_path):
    """One asks for cells that another has run since the store was opened."""
    store = Store(tmp_path)
    problem = PROBLEM.replace(vocab=64, dim=48)
    several = [
        CriticalSearch(problem, target=target, budget=12, first_seed=seed)
        for target in (0.5, 0.9)
        for seed in (0, 1, 5)
    ]
    run_searches(several, OneByOne(), HOW, lambda *done: None, store=store)
    assert all(search.done for search in several)
    assert is_sound(store)


def test_two_searches_that_ask_for_the_same_run_it_once(tmp_path):
    store = Store(tmp_path)
    equal = [CriticalSearch(PROBLEM.replace(vocab=64, dim=48), budget=8) for _ in range(2)]
    run_searches(equal, OneByOne(), HOW, lambda *done: None, store=store)
    assert equal[0].result() == equal[1].result()
    assert rows_of(store) == 8
    assert is_sound(store)
