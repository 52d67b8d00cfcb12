"""Late and stopped workers are ended, and the memory limit of a container counts."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from counting import Counting
from plain_jobs import OneLongCall, Sleep, StoppedInItsAnswer
from recallscope import Problem, Status, Store, sweep
from recallscope.cell import Cell, Settings
from recallscope.common import machine
from recallscope.executors.base import Done, Executor
from recallscope.executors.child import process_state
from recallscope.executors.limits import Limits
from recallscope.executors.processes import Processes
from recallscope.executors.serial import Serial
from recallscope.sweeps.dispatch import run_cells

PROBLEM = Problem(vocab=32, samples=64, dim=16, length=4)
HOW = Settings(test_samples=64)


@pytest.fixture
def pool():
    made = Processes(1)
    yield made
    made.close()


def drain(executor: Executor, count: int) -> dict[int, Done]:
    done: dict[int, Done] = {}
    end = time.monotonic() + 60
    while len(done) < count and time.monotonic() < end:
        done |= {one.number: one for one in executor.finished(1.0)}
    assert len(done) == count
    return done


# Limits of time.


@pytest.mark.parametrize("make", [lambda: Processes(1), Serial])
def test_a_task_that_is_late_is_ended_in_the_midst_of_a_call(make):
    executor = make()
    executor.submit(0, OneLongCall(), 0.3)
    executor.submit(1, Sleep(), 60)
    done = drain(executor, 2)
    executor.close()
    assert done[0].timed_out
    assert (done[0].result, done[0].lost) == (None, "took longer than the limit of 0.3 s")
    assert not done[1].timed_out
    assert done[1].lost is None
    assert done[1].result != os.getpid()


def test_the_clock_starts_when_the_worker_begins(pool):
    for number in range(4):
        pool.submit(number, Sleep(0.6), 1.8)
    assert all(one.lost is None for one in drain(pool, 4).values())


def test_what_was_done_in_time_is_not_late_because_the_driver_was_busy(pool):
    pool.submit(0, Sleep(0.1), 0.4)
    while pool._pool[0].deadline is None:
        assert pool.finished(1.0) == []
    time.sleep(1.5)
    assert drain(pool, 1)[0].lost is None


class Late(Serial):
    """Every task takes too long."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[tuple[Any, float | None]] = []

    def submit(self, number, job, seconds=None):
        self.given.append((job, seconds))
        self._queue.append((number, job))

    def finished(self, timeout):
        number, _ = self._queue.popleft()
        return [Done(number, "gone", None, "took longer than the limit of 2 s", timed_out=True)]


def test_a_late_cell_is_recorded_at_once_and_not_run_again():
    executor, cells = Late(), [Cell(PROBLEM, seed) for seed in range(9)]
    found = list(run_cells(cells, executor, HOW, Limits(seconds=2)))
    assert [job.cells for job, _ in executor.given] == [(cell,) for cell in cells]
    assert {seconds for _, seconds in executor.given} == {2}
    for cell, finished in zip(cells, found, strict=True):
        (record,) = finished.records
        assert (finished.cells, record.status) == ((cell,), Status.FAILED)
        assert record.reason == "took longer than the limit of 2 s"


def test_with_a_limit_of_time_cells_travel_alone():
    sizes = []

    class Watching(Serial):
        def submit(self, number, job, seconds=None):
            sizes.append(len(job.cells))
            super().submit(number, job)

    cells = [Cell(PROBLEM, seed) for seed in range(50)]
    list(run_cells(cells, Watching(), HOW, Limits(seconds=60)))
    assert sizes == [1] * 50


# Stopped workers.


def test_a_stopped_worker_is_replaced_and_its_next_task_is_kept(pool):
    pool.submit(0, Sleep())
    pid = drain(pool, 1)[0].result
    pool.submit(1, Sleep(0.2))
    pool.submit(2, Sleep())
    os.kill(pid, signal.SIGSTOP)
    done = drain(pool, 2)
    assert done[1].lost == "its worker was stopped for 2 s"
    assert not done[1].timed_out
    assert done[2].lost is None
    assert done[2].result != pid


def test_a_worker_that_is_stopped_for_a_moment_continues(pool):
    pool.submit(0, Sleep())
    pid = drain(pool, 1)[0].result
    pool.submit(1, Sleep(0.2))
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(pid, signal.SIGCONT)
    assert drain(pool, 1)[1].result == pid


def test_a_worker_stopped_in_the_midst_of_its_answer_is_not_waited_for(pool):
    pool.submit(0, StoppedInItsAnswer())
    while not pool._pool[0].ready:
        pool.finished(0.1)
    end = time.monotonic() + 60
    while process_state(pool._pool[0].process.pid) != "T" and time.monotonic() < end:
        time.sleep(0.05)  # most of its answer is still to be sent
    assert drain(pool, 1)[0].lost == "its worker was stopped for 2 s"


# Memory.


def made_up(folder: Path, own: str, limits: dict[str, str]) -> float:
    """The limit that a process would find that is in these groups."""
    (folder / "own").write_text(own)
    for name, limit in limits.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(limit)
    return machine.cgroup_memory(folder, folder / "own")


@pytest.mark.parametrize(
    ("own", "limits", "expected"),
    [
        ("0::/a/b\n", {"memory.max": "900\n"}, 900),
        ("0::/a/b\n", {"a/memory.max": "800\n", "a/b/memory.max": "max\n"}, 800),
        ("0::/a/b\n", {"a/memory.max": "max\n", "a/b/memory.max": "700\n"}, 700),
        ("0::/../../a\n", {"memory.max": "600\n"}, 600),
        ("0::/a\n", {}, math.inf),
        ("0::/a\n", {"a/memory.max": "much\n"}, math.inf),
        ("2:cpu:/a\n1:memory:/a/b\n", {"memory/a/memory.limit_in_bytes": "500\n"}, 500),
        ("1:memory,cpu:/\n0::/\n", {"memory/memory.limit_in_bytes": "400"}, 400),
        ("2:cpu:/a\n", {"a/memory.max": "1\n"}, math.inf),
        ("what\n", {"a/memory.max": "1\n"}, math.inf),
        ("", {"memory.max": "1\n"}, math.inf),
    ],
)
def test_the_limits_of_a_container_are_found(own, limits, expected, tmp_path):
    assert made_up(tmp_path, own, limits) == expected


def test_memory_is_the_smaller_of_the_machine_and_the_container(tmp_path, monkeypatch):
    installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    monkeypatch.setattr(machine, "_CGROUPS", tmp_path)
    monkeypatch.setattr(machine, "_OWN_CGROUPS", tmp_path / "own")
    assert machine.machine_memory() == installed
    for limit, expected in ((9e8, 9e8), (1e18, installed)):
        machine.cgroup_memory.cache_clear()
        made_up(tmp_path, "0::/\n", {"memory.max": f"{limit:.0f}\n"})
        assert machine.machine_memory() == expected
        assert 0 < expected - machine.memory_left() < 2e10  # this process
    machine.cgroup_memory.cache_clear()


def test_a_cell_that_does_not_fit_is_infeasible_and_not_begun(tmp_path):
    executor = Serial()
    executor.memory = 9e8
    large = [(PROBLEM.replace(vocab=20_000, dim=2000), seed) for seed in range(3)]
    found = sweep([*large, (PROBLEM, 0)], tmp_path, executor=executor, test_samples=64)
    assert found.by_status == {"infeasible": 3, "ok": 1}
    reasons = {r.reason for r in Store(tmp_path).records() if r.status is Status.INFEASIBLE}
    assert len(reasons) == 1
    assert "but this machine has 0.838 GiB for it" in reasons.pop()


def test_memory_is_counted_for_what_runs_and_not_for_what_waits():
    cells = [Cell(PROBLEM, seed) for seed in range(40)]
    for tasks, most in ((4.5, 8), (3.5, 3)):
        executor = Counting(tasks * 3.8e8)  # a task takes some 0.35 GiB, most of it torch itself
        assert sum(len(d.records) for d in run_cells(cells, executor, HOW, Limits())) == 40
        assert executor.most == most


def test_no_more_workers_are_started_than_there_are_tasks_at_a_time():
    pool = Processes(3)
    for number in range(3):
        pool.submit(number, Sleep())
        drain(pool, 1)
    assert len(pool._pool) == 1
    for number in range(5):
        pool.submit(number, Sleep())
    assert len(pool._pool) == 3
    drain(pool, 5)
    pool.close()


def test_a_worker_whose_driver_died_as_it_started_ends_without_a_word():
    ours, theirs = multiprocessing.Pipe()
    ours.close()
    serve = f"serve({theirs.fileno()}, False, [])"
    command = f"from recallscope.executors.process_worker import serve; {serve}"
    done = subprocess.run(
        [sys.executable, "-c", command], pass_fds=[theirs.fileno()], capture_output=True, timeout=60
    )
    theirs.close()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
