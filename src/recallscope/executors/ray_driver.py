"""Ray's driver, in a separate process: the only file that imports Ray.

Each CPU gets one long-lived actor, which gets its next task when it is done with the last. The
process is started with the environment for Ray, and killed if necessary, so we use the public
interface of Ray only. Jobs and results pass through it as bytes, unread.
"""

from __future__ import annotations

import math
import os
import pickle
import queue
import signal
import socket
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import ray

from recallscope.executors.base import PackedJob, attempt
from recallscope.executors.child import GRACE, LONGEST_STOP, TICK, Stop, process_state
from recallscope.executors.limits import too_long
from recallscope.executors.process_worker import load
from recallscope.executors.same_code import difference, own_code

BRIEF = 0.5  # seconds; a worker of shorter tasks gets the next one in advance
WARM_UP = 30.0  # seconds that the workers of a private cluster may take to start


class _Plan(NamedTuple):
    """The settings of Ray."""

    address: str | None
    """Of the cluster to join; None to start one."""
    workers: int | None
    preload: tuple[str, ...]
    code: dict[str, str]
    """The code that workers must have too, as from `own_code`."""


def serve(channel: int) -> None:
    """Start or join a cluster, and run the tasks that come until the channel is closed."""
    executor: Connection[Any, Any] = Connection(channel)
    plan = _Plan(*executor.recv())
    if plan.address is None:
        _start(plan)
    elif refusal := _join(plan.address):
        executor.send(("refused", refusal))
        return
    _Driver(executor, plan).run()


def _start(plan: _Plan) -> None:
    ray.init(
        address="local",
        num_cpus=plan.workers,
        num_gpus=0,
        object_store_memory=2**28,
        include_dashboard=False,
        logging_level="ERROR",
        log_to_driver=False,
    )
    addresses = {node["NodeManagerAddress"] for node in ray.nodes()}
    if addresses != {"127.0.0.1"}:
        raise RuntimeError(f"Ray listens on {', '.join(addresses)}, not on loopback only")


def _join(address: str) -> str | None:
    """Join a cluster; the reason if that is not possible."""
    try:
        ray.init(address=address, logging_level="ERROR", log_to_driver=False)
    except Exception as error:
        return _refusal(address, error)
    if ray.cluster_resources().get("CPU", 0) < 1:
        return f"the Ray cluster at {address} has no CPU"
    return None


def _refusal(address: str, error: Exception) -> str:
    """Return what is wrong, and what to do; Ray has no error classes for most cases."""
    text = traceback.format_exc()  # with the errors that led to this one
    if "AuthenticationError" in text:
        return (
            f"the Ray cluster at {address} wants a token that is not there or not right; "
            "set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
        )
    if "No node info found" in text:
        return (
            f"the Ray cluster at {address} is there, but has no node on this host "
            f"({socket.gethostname()}), which is needed to join it; start one here by "
            f"`ray start --address={address}`, or run this command on a host that has one"
        )
    if isinstance(error, ConnectionError):
        return f"there is no Ray cluster at {address}; give the host:port of one that runs"
    what = f"the Ray cluster at {address} cannot be joined: {_in_words(error)}"
    same = "; install the same versions here as there"
    return what + same if "Version mismatch" in what else what


class _Task(NamedTuple):
    number: int
    job: bytes
    seconds: float | None


class _WorkerActor:
    """The actor that runs in a worker."""

    def __init__(self, preload: tuple[str, ...]) -> None:
        os.environ["OMP_NUM_THREADS"] = "1"
        load(preload)

    def hello(self) -> tuple[str, int, dict[str, str]]:
        return socket.gethostname(), os.getpid(), own_code()

    def run(self, job: bytes) -> tuple[bytes, str | None, float]:
        start = time.monotonic()
        result, error = attempt(PackedJob(job))
        return pickle.dumps(result), error, time.monotonic() - start


class _Worker:
    """A worker as seen from the driver: an actor on one CPU, and its tasks in order."""

    def __init__(self, preload: tuple[str, ...]) -> None:
        how = {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0}
        actor = ray.remote(**how, scheduling_strategy="SPREAD")(_WorkerActor)
        self.actor: Any = actor.remote(preload)
        self.tasks: deque[_Task] = deque()
        self.end = math.inf  # of the time of its first task
        self.stop = Stop()
        self.host, self.pid = "nobody", 0

    @property
    def ready(self) -> bool:
        """Whether the actor has started; it may wait long for its CPU on a busy cluster."""
        return self.pid > 0

    @property
    def name(self) -> str:
        return f"{self.host}:{self.pid}" if self.ready else self.host

    def kill(self) -> None:
        """Kill a process of this machine; Ray would ask it to end, and it may not answer."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class _Driver:
    """Gives tasks to workers; all events come through one queue."""

    def __init__(self, executor: Connection[Any, Any], plan: _Plan) -> None:
        found = ray.cluster_resources()
        cpus = int(found["CPU"])
        self._count = cpus if plan.workers is None else min(plan.workers, cpus)
        self._memory = float(found.get("memory", math.inf))
        self._executor, self._preload, self._code = executor, plan.preload, plan.code
        self._local = plan.address is None
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._waiting: deque[_Task] = deque()
        self._brief = False
        self._failed_starts = 0  # workers in a row that died before their first answer
        self._next_look = 0.0
        self._workers = [self._new_worker() for _ in range(self._count)]

    def run(self) -> None:
        """Work until the executor is gone."""
        # Without this wait, a late worker would leave all first tasks to the others.
        end = time.monotonic() + (WARM_UP if self._local else 0.0)
        while time.monotonic() < end and not all(worker.ready for worker in self._workers):
            self._step()
        self._executor.send(("up", self._count, self._memory))
        threading.Thread(target=self._receive, daemon=True).start()
        while True:
            self._step()

    def _step(self) -> None:
        with suppress(queue.Empty):
            self._events.get(timeout=TICK)()
        if self._events.empty() and time.monotonic() >= self._next_look:
            self._look()
            self._next_look = time.monotonic() + TICK
        self._deal()

    def _receive(self) -> None:
        """Take in tasks, and leave when the executor is gone."""
        try:
            while True:
                self._events.put(partial(self._waiting.append, _Task(*self._executor.recv())))
        except (EOFError, OSError):
            ray.shutdown()
        finally:
            os._exit(0)

    def _new_worker(self) -> _Worker:
        worker = _Worker(self._preload)
        self._when_done(worker.actor.hello.remote(), self._take_hello, worker)
        return worker

    def _when_done(self, ref: Any, then: Callable[..., None], *what: Any) -> None:
        ref.future().add_done_callback(
            lambda future: self._events.put(partial(then, *what, future))
        )

    def _deal(self) -> None:
        """Give waiting tasks to the workers that have the least to do."""
        for most in range(2 if self._brief else 1):
            for worker in self._workers:
                if self._waiting and worker.ready and len(worker.tasks) <= most:
                    task = self._waiting.popleft()
                    worker.tasks.append(task)
                    self._when_done(worker.actor.run.remote(task.job), self._take, worker, task)
                    if len(worker.tasks) == 1:
                        self._begin(worker)

    def _begin(self, worker: _Worker) -> None:
        """Set the deadline of a worker's first task, which it begins now."""
        task = worker.tasks[0]
        limit = math.inf if task.seconds is None else task.seconds + GRACE
        worker.end = time.monotonic() + limit
        self._executor.send(("begun", task.number, worker.name))

    def _take_hello(self, worker: _Worker, future: Any) -> None:
        if worker not in self._workers:
            return
        if error := future.exception():
            self._failed_starts += 1
            if self._failed_starts > 3 * self._count:
                self._executor.send(("broken", f"no Ray worker comes up: {_in_words(error)}"))
                os._exit(1)
            self._replace(worker, _in_words(error))
            return
        worker.host, pid, there = future.result()
        if differs := difference(worker.host, there, self._code):
            self._executor.send(("refused", differs))
            os._exit(1)
        worker.pid = pid  # only now is it ready for tasks
        self._failed_starts = 0

    def _take(self, worker: _Worker, task: _Task, future: Any) -> None:
        """Take the result of a task; one may overtake that of the task before."""
        if worker not in self._workers:
            return
        if error := future.exception():
            self._replace(worker, _in_words(error))
            return
        result, lost, seconds = future.result()
        self._brief = seconds < BRIEF
        was_first = task is worker.tasks[0]
        worker.tasks.remove(task)
        self._executor.send(("done", task.number, worker.name, result, lost, False))
        if was_first and worker.tasks:
            self._begin(worker)

    def _look(self) -> None:
        """End the workers that are late or stopped."""
        for worker in [worker for worker in self._workers if worker.ready]:
            if self._local:
                worker.stop.note(process_state(worker.pid) == "T")
            late = bool(worker.tasks) and time.monotonic() > worker.end
            if not late and not worker.stop.too_long:
                continue
            if self._local:
                worker.kill()
            stopped = f"its worker was stopped for {LONGEST_STOP:g} s"
            why = too_long(worker.tasks[0].seconds) if late else stopped
            self._replace(worker, why, timed_out=late)

    def _replace(self, worker: _Worker, why: str, timed_out: bool = False) -> None:
        """Replace a lost worker; only its current task is lost too."""
        ray.kill(worker.actor)
        if worker.tasks:
            number = worker.tasks.popleft().number
            self._executor.send(("done", number, worker.name, None, why, timed_out))
        self._waiting.extendleft(reversed(worker.tasks))
        self._workers[self._workers.index(worker)] = self._new_worker()


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
