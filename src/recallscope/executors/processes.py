"""Workers as processes of this machine, by the standard library alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Any, NamedTuple

from recallscope.common.machine import available_cores, memory_left
from recallscope.executors.base import Done, Job, packed_job
from recallscope.executors.child import GRACE, Child, Deadline, Watchdog
from recallscope.executors.limits import too_long

_AT_ONCE = 2  # tasks a worker is given: the one it does, and the next
_BAD_STARTS = 3  # of workers in a row that end by themselves, before an error is raised
_KILLED_STARTS = 30  # of workers in a row that are killed as they start
_START = (
    "import sys; from recallscope.executors.process_worker import serve; "
    "serve(int(sys.argv[1]), sys.argv[2] == 'one thread', sys.argv[3:])"
)


class _Task(NamedTuple):
    number: int
    job: Job
    seconds: float | None


class _Worker(Child):
    """A process, and what it was given."""

    def __init__(self, preload: Sequence[str], one_thread: bool) -> None:
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS") if one_thread else ()
        threads = "one thread" if one_thread else "all threads"
        super().__init__(_START, [threads, *preload], dict.fromkeys(names, "1"))
        self.tasks: deque[_Task] = deque()
        self.ready = False

    def send(self, task: _Task) -> None:
        self.tasks.append(task)
        self.channel.send((task.number, packed_job(task.job), task.seconds is not None))

    @property
    def name(self) -> str:
        return f"process {self.process.pid}"


class Processes:
    """A number of processes with one thread each; lost ones are replaced.

    `preload` names modules that a worker imports before it is ready for its first job. Without
    `one_thread`, a worker uses as many as torch would in this process.
    """

    def __init__(
        self, workers: int | None = None, preload: Sequence[str] = (), *, one_thread: bool = True
    ) -> None:
        self._preload, self._one_thread = preload, one_thread
        self.workers = workers or available_cores()
        self.memory = memory_left()
        self._bad_starts = 0
        self._queue: deque[_Task] = deque()
        self._lost: list[Done] = []
        self._pool: list[_Worker] = []
        self._watchdog: Watchdog | None = None

    def submit(self, number: int, job: Job, seconds: float | None = None) -> None:
        """Give a task to the worker with the fewest tasks, or keep it for later."""
        # Where memory is short there are few tasks at a time, so few workers are needed.
        if len(self._pool) < self.workers and all(worker.tasks for worker in self._pool):
            self._pool.append(_Worker(self._preload, self._one_thread))
        if self._watchdog is None:
            self._watchdog = Watchdog(self._pool)
        self._queue.append(_Task(number, job, seconds))
        self._hand_out()

    def finished(self, timeout: float) -> list[Done]:
        """Collect what the workers have sent, and replace those that were lost."""
        by_channel = {worker.channel: worker for worker in self._pool}
        done: list[Done] = []
        for channel in wait(list(by_channel), 0 if self._lost else timeout):
            worker = by_channel[channel]  # type: ignore[index]
            try:
                message = worker.channel.recv()
            except (EOFError, OSError):
                self._replace(worker)
                continue
            self._bad_starts = 0
            done += self._take(worker, *message)
        self._hand_out()
        done += self._lost
        self._lost = []
        return done

    def close(self) -> None:
        """Kill the workers."""
        if self._watchdog is not None:
            self._watchdog.stop()
            self._watchdog = None
        self._queue.clear()
        for worker in self._pool:
            worker.process.kill()
        while self._pool:
            self._pool.pop().end()

    def _take(self, worker: _Worker, kind: str, *what: Any) -> list[Done]:
        """Take a message: a worker is ready, has begun a task, or is done with it."""
        if kind == "ready":
            worker.ready = True
        elif kind == "begun":
            number, when = what
            worker.deadline = Deadline(number, when + (worker.tasks[0].seconds or 0) + GRACE)
        else:
            number, result, error = what
            worker.deadline = None
            worker.tasks.popleft()
            return [Done(number, worker.name, result, error)]
        return []

    def _hand_out(self) -> None:
        while self._queue:
            worker = min(self._pool, key=lambda worker: len(worker.tasks))
            if len(worker.tasks) >= _AT_ONCE:
                return
            try:
                worker.send(self._queue.popleft())
            except OSError:
                self._replace(worker)

    def _replace(self, worker: _Worker) -> None:
        """Replace a lost worker; only its current task is lost too."""
        worker.end()
        if not worker.ready:
            self._bad_starts += 1
            code = worker.process.returncode
            if self._bad_starts >= (_BAD_STARTS if code >= 0 else _KILLED_STARTS):
                raise RuntimeError(f"worker processes end before they begin, with code {code}")
        elif worker.tasks:
            number, _, seconds = worker.tasks.popleft()
            late = worker.late == number
            why = too_long(seconds) if late else worker.ending
            self._lost.append(Done(number, worker.name, None, why, timed_out=late))
        self._queue.extendleft(reversed(worker.tasks))
        self._pool[self._pool.index(worker)] = _Worker(self._preload, self._one_thread)
