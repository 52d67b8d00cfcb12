"""Any executor runs a sweep; late, lost and unstartable workers, and memory, are dealt with."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from loky import get_reusable_executor
from one_by_one import OneByOne
from plain_jobs import Bad, Killed, KilledInItsAnswer, OneLongCall, Settings, Sleep, Unreadable
from proc import HERE, command, living, tree

from recallscope import Problem, ProblemError, Status, Store, sweep
from recallscope.common import machine
from recallscope.experiment.cell import Cell
from recallscope.experiment.cell import Settings as CellSettings
from recallscope.sweeps.dispatch import run_cells
from recallscope.sweeps.executors.job import Answer, Job, pack_job, run_sent
from recallscope.sweeps.executors.limits import Limits
from recallscope.sweeps.executors.processes import Processes
from recallscope.sweeps.executors.workers import ExecutorLike, Workers, workers_of

PROBLEM = Problem(vocab=32, samples=64, dim=16, length=4)
HOW = CellSettings(test_samples=64)
STANDARD = partial(ProcessPoolExecutor, 2)
LOKY = partial(get_reusable_executor, 2)
REUSED = partial(get_reusable_executor, 1)


@pytest.fixture(scope="module")
def pool() -> Iterator[Workers]:
    with workers_of("processes", 1) as workers:
        yield workers


def answers(workers: Workers, *jobs: Job) -> list[Answer]:
    """The answers of jobs, in their order."""
    numbers = [workers.submit(job) for job in jobs]
    return drain(workers, numbers)


def drain(workers: Workers, numbers: list[int]) -> list[Answer]:
    done: dict[int, Answer] = {}
    end = time.monotonic() + 60
    while len(done) < len(numbers) and time.monotonic() < end:
        done |= dict(workers.finished(1.0))
    return [done[number] for number in numbers]


# Answers.


def test_a_worker_has_one_thread_and_this_process_keeps_its_own(pool: Workers) -> None:
    before = os.environ.get("OMP_NUM_THREADS"), torch.get_num_threads()
    assert answers(pool, Settings())[0].result[1:] == (1, "1")
    assert (os.environ.get("OMP_NUM_THREADS"), torch.get_num_threads()) == before


def test_errors_of_a_job_are_its_answer(pool: Workers) -> None:
    bad, unreadable, good = answers(pool, Bad(), Unreadable(), Sleep())
    assert bad.lost == "ArithmeticError: bad"
    assert unreadable.lost is not None
    assert unreadable.lost.startswith("ValueError: invalid literal")
    assert (good.lost, good.worker.endswith(f":{good.result}")) == (None, True)


def test_work_that_cannot_be_sent_is_a_mistake(pool: Workers) -> None:
    class Local:
        def run(self) -> None: ...

    with pytest.raises(ProblemError, match=r"the work cannot be sent to a worker: .*Local"):
        pool.submit(Local())


def test_a_worker_without_the_module_is_a_mistake_of_the_user(
    tmp_path: Path, monkeypatch: Any, pool: Workers
) -> None:
    answers(pool, Sleep())  # a worker that starts later would get the path below
    (tmp_path / "only_here.py").write_text("class Job:\n    def run(self): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here  # type: ignore[import-not-found]

    (answer,) = answers(pool, only_here.Job())
    with pytest.raises(ProblemError, match=r"cannot be loaded in a worker: .*No module named"):
        answer.value()


def test_a_worker_with_other_code_is_refused() -> None:
    sent = pack_job(Sleep())
    ours = {**sent.code, "numpy": "0.0.1"}
    with pytest.raises(ProblemError, match=r"numpy is \S+ there and 0\.0\.1 here; install the"):
        run_sent(sent._replace(code=ours)).value()


# Limits of time.


@pytest.mark.parametrize("executor", ["processes", "serial"])
def test_a_late_job_is_ended_in_the_midst_of_a_call(executor: str) -> None:
    with workers_of(executor, 1, limits=Limits(seconds=0.5)) as workers:
        late, other = answers(workers, OneLongCall(), Sleep())
    assert late == Answer(lost="took longer than the limit of 0.5 s", late=True)
    assert other.lost is None
    assert other.result != os.getpid()


def test_the_clock_starts_when_the_worker_begins() -> None:
    with workers_of("processes", 1, limits=Limits(seconds=1.8)) as workers:
        found = answers(workers, *[Sleep(0.6) for _ in range(4)])
    assert [answer.lost for answer in found] == [None] * 4


class Late(OneByOne):
    """Every job takes too long."""

    def answer(self, number: int, job: Any) -> Answer:
        self.given = [*getattr(self, "given", []), job.cells]
        return Answer("gone", lost="took longer than the limit of 2 s", late=True)


def test_a_late_cell_is_recorded_at_once_and_not_run_again() -> None:
    workers, cells = Late(), [Cell(PROBLEM, seed) for seed in range(9)]
    found = list(run_cells(cells, workers, HOW, Limits(seconds=2)))
    assert workers.given == [(cell,) for cell in cells]
    for cell, finished in zip(cells, found, strict=True):
        (record,) = finished.records
        assert (finished.cells, record.status) == ((cell,), Status.FAILED)
        assert record.reason == "took longer than the limit of 2 s"


# Lost workers.


def test_a_killed_worker_takes_no_other_job_along() -> None:
    with workers_of("processes", 2) as workers:
        killed, *others = answers(workers, Killed(), *[Sleep(0.2) for _ in range(4)])
        assert killed.lost == "LostWorkerError: its worker ended with SIGKILL(-9)"
        assert not killed.suspect
        assert [other.lost for other in others] == [None] * 4


def test_a_worker_killed_in_the_midst_of_its_answer_is_not_waited_for() -> None:
    with workers_of("processes", 1) as workers:
        killed, other = answers(workers, KilledInItsAnswer(), Sleep())
    assert killed.lost is not None
    assert killed.lost.startswith("LostWorkerError: its worker ended")
    assert other.lost is None


def test_workers_that_cannot_start_are_reported(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("recallscope.sweeps.jobs._NEEDED", ("no_such_module",))
    with pytest.raises(ProblemError, match="worker processes end before they begin"):
        sweep([(PROBLEM, 0)], tmp_path, executor="processes", progress=False)


def test_no_more_workers_are_started_than_there_are_jobs_at_a_time() -> None:
    with workers_of("processes", 3) as workers:
        before = len(tree(os.getpid()))
        for _ in range(3):
            answers(workers, Sleep())
        assert len({answer.result for answer in answers(workers, Sleep())}) == 1
        assert len(tree(os.getpid())) <= before + 2  # it, and loky's tracker
        found = answers(workers, *[Sleep(0.3) for _ in range(5)])
        assert len({answer.result for answer in found}) == 3


def crash(problem: Problem, seed: int) -> dict[str, float]:
    if seed == 61:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"itself": float(seed)}


@pytest.mark.parametrize(
    "executor",
    ["processes", STANDARD, pytest.param(LOKY, marks=pytest.mark.slow)],
    ids=["processes", "standard", "loky"],
)
def test_a_cell_that_always_crashes_fails_alone(executor: ExecutorLike, tmp_path: Path) -> None:
    cells = [(PROBLEM, seed) for seed in range(100)]
    how: dict[str, Any] = {"workers": 2, "run": crash, "version": 1, "progress": False}
    found = sweep(cells, tmp_path, executor=executor, **how)
    assert found.by_status == {"failed": 1, "ok": 99}
    (failed,) = (r for r in Store(tmp_path).records() if r.status is Status.FAILED)
    assert failed.seed == 61
    assert str(failed.reason).startswith("lost 5 times: ")


def test_a_broken_pool_that_nobody_can_make_anew_is_an_error(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1) as broken:
        how: dict[str, Any] = {"run": crash, "version": 1, "progress": False}
        with pytest.raises(ProblemError, match="give a function that makes it, such as"):
            sweep([(PROBLEM, 61)], tmp_path, executor=broken, **how)


class Broken(Executor):
    """Breaks whatever it is given."""

    _max_workers = 1

    def submit(self, *call: Any, **more: Any) -> Future[Any]:
        raise BrokenProcessPool("no memory")


def test_an_executor_that_always_breaks_is_an_error() -> None:
    with (
        workers_of(Broken) as workers,
        pytest.raises(ProblemError, match="broke 31 times in a row: BrokenProcessPool: no memory"),
    ):
        list(run_cells([Cell(PROBLEM, seed) for seed in range(99)], workers, HOW, Limits()))


def test_an_executor_that_was_closed_is_an_error_and_its_cells_have_not_failed(tmp_path) -> None:
    class Closed(ThreadPoolExecutor):
        def submit(self, *call: Any, **more: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.cancel()
            return future

    with Closed(1) as executor, pytest.raises(ProblemError, match="has cancelled a job"):
        sweep([(PROBLEM, 0)], tmp_path, executor=executor, progress=False)
    assert Store(tmp_path).by_status() == {}


# Executors of the user's.


def bits(place: Path) -> list[dict[str, Any]]:
    found = [record.result() for record in Store(place).records()]
    return sorted(found, key=lambda fields: (fields["problem_key"], fields["seed"]))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: Any) -> list[dict[str, Any]]:
    return swept("serial", tmp_path_factory.mktemp("undisturbed"))


def swept(executor: ExecutorLike, place: Path, **more: Any) -> list[dict[str, Any]]:
    trained = PROBLEM.replace(learner="adam", steps=20)
    cells = [(problem, seed) for problem in (PROBLEM, trained) for seed in range(8)]
    found = sweep(cells, place, executor=executor, test_samples=64, progress=False, **more)
    assert found.by_status == {"ok": 16}
    return bits(place)


def test_a_standard_pool_of_the_user_is_used_and_left_open(tmp_path, undisturbed) -> None:
    with ProcessPoolExecutor(2) as pool:
        assert swept(pool, tmp_path) == undisturbed
        assert pool.submit(os.getpid).result() != os.getpid()


def test_threads_of_the_user_have_the_same_bits(tmp_path, undisturbed) -> None:
    with ThreadPoolExecutor(2) as threads:
        assert swept(threads, tmp_path) == undisturbed


def test_loky_of_the_user_has_the_same_bits(tmp_path, undisturbed) -> None:
    assert swept(LOKY, tmp_path) == undisturbed


@pytest.mark.slow
def test_dask_has_the_same_bits(tmp_path, undisturbed) -> None:
    distributed = pytest.importorskip("distributed")
    script = textwrap.dedent(DASK).format(tests=HERE, place=str(tmp_path))
    assert distributed
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert bits(tmp_path) == undisturbed


DASK = """
import sys
sys.path[:0] = {tests!r}
from pathlib import Path
from distributed import Client
from test_executors import swept

with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
    swept(client.get_executor(), Path({place!r}), workers=2)
"""


class Polled:
    """Futures that tell nobody when they are done, as submitit's jobs."""

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(2)

    def submit(self, *call: Any) -> Any:
        future = self.threads.submit(*call)

        class Job:
            done, exception, result, cancel = (
                future.done,
                future.exception,
                future.result,
                future.cancel,
            )

        return Job()


def test_futures_without_callbacks_are_polled(tmp_path, undisturbed) -> None:
    assert swept(Polled(), tmp_path, workers=2) == undisturbed  # type: ignore[arg-type]


@pytest.mark.slow
def test_submitit_has_the_same_bits(tmp_path, undisturbed) -> None:
    submitit = pytest.importorskip("submitit")
    executor = submitit.LocalExecutor(tmp_path / "jobs")
    assert swept(executor, tmp_path / "facts", workers=2) == undisturbed


@pytest.mark.parametrize(
    ("executor", "more", "message"),
    [
        ("dask", {}, "executor must be one of serial, processes, ray, not 'dask'"),
        (7, {}, "a concurrent.futures.Executor, or a function that makes one, not 7"),
        (Polled(), {}, "a Polled does not say how many workers it has; give workers="),
        (STANDARD, {"time_limit": 1}, "recallscope cannot end a job in another: leave them out"),
        (STANDARD, {"memory_limit": 1e9}, "recallscope cannot end a job in another"),
        (STANDARD, {"address": "auto"}, "an address is for the executor ray, not for one of"),
    ],
)
def test_what_an_executor_cannot_do_is_said_before_the_first_cell(
    executor: Any, more: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ProblemError, match=message):
        sweep([(PROBLEM, 0)], tmp_path / "facts", executor=executor, **more)
    assert not (tmp_path / "facts").exists()


# How it ends.


DRIVER = """
from recallscope import Problem, sweep
large = Problem(vocab=2000, samples=10**9, dim=32, length=16)
print("begins", flush=True)
try:
    sweep([(large, seed) for seed in range(4)], {place!r}, executor="processes", workers=2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_driver_leaves_no_process_however_it_ends(how: signal.Signals, tmp_path: Path) -> None:
    """Also of a script without a guard against being imported. Ctrl-C reaches the whole group."""
    script = tmp_path / "script.py"
    script.write_text(DRIVER.format(place=str(tmp_path / "facts")))
    driver = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    with driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "begins\n"
        end = time.monotonic() + 60
        while sum("loky.backend.popen" in command(pid) for pid in tree(driver.pid)) < 2:
            assert time.monotonic() < end
            time.sleep(0.1)
        time.sleep(3.0)  # both are at work
        family = tree(driver.pid)
        if how == signal.SIGINT:
            os.killpg(driver.pid, how)
        else:
            driver.kill()
        driver.wait(30)
        assert driver.stdout.read() == ("interrupted\n" if how == signal.SIGINT else "")
    end = time.monotonic() + 30
    while living(family):
        assert time.monotonic() < end, living(family)
        time.sleep(0.05)


def test_a_sweep_in_a_thread_may_have_a_limit_of_time(tmp_path: Path) -> None:
    cells = [(PROBLEM, seed) for seed in range(2)]
    thread = threading.Thread(target=lambda: sweep(cells, tmp_path, time_limit=60))
    thread.start()
    thread.join()
    assert {record.status for record in Store(tmp_path).records()} == {Status.OK}


def test_workers_outlive_nothing_when_they_are_closed() -> None:
    executor = Processes(2)
    found = [executor.submit(time.sleep, 600) for _ in range(5)]
    while len(tree(os.getpid())) < 2:
        time.sleep(0.05)
    time.sleep(1.0)
    started = time.monotonic()
    executor.shutdown(cancel_futures=True)
    assert time.monotonic() - started < 10
    assert all(future.done() for future in found)


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


def test_a_cell_that_does_not_fit_is_infeasible_and_not_begun(tmp_path, monkeypatch):
    monkeypatch.setattr("recallscope.sweeps.executors.workers.machine_memory", lambda: 9e8)
    large = [(PROBLEM.replace(vocab=20_000, dim=2000), seed) for seed in range(3)]
    found = sweep([*large, (PROBLEM, 0)], tmp_path, test_samples=64)
    assert found.by_status == {"infeasible": 3, "ok": 1}
    reasons = {r.reason for r in Store(tmp_path).records() if r.status is Status.INFEASIBLE}
    assert len(reasons) == 1
    assert "but this machine has 0.838 GiB for it" in reasons.pop()


def test_memory_is_counted_for_what_runs_and_not_for_what_waits():
    cells = [Cell(PROBLEM, seed) for seed in range(40)]
    for tasks, most in ((4.5, 8), (3.5, 3)):
        workers = OneByOne(4, tasks * 3.8e8)  # a task takes some 0.35 GiB, most of it torch itself
        assert sum(len(d.records) for d in run_cells(cells, workers, HOW, Limits())) == 40
        assert workers.most == most
