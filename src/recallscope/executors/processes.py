"""Threads that are processes of this machine, from the standard library alone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from recallscope.common.machine import available_cores, machine_memory
from recallscope.executors.base import Done, Job

_AT_ONCE = 2  # tasks a worker is given: the one it does, and the next
_BAD_STARTS = 3  # of workers in a row that end by themselves, before it is no accident
_KILLED_STARTS = 30  # of workers in a row that are killed as they start
_START = (
    "import sys; from recallscope.executors.process_worker import serve; "
    "serve(int(sys.argv[1]), sys.argv[2:])"
)


class _Worker:
    """A process, the channel to it, and what it was given."""

    def __init__(self, preload: Sequence[str]) -> None:
        ours, theirs = socket.socketpair()
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        with theirs:
            # A session of its own: Ctrl-C in the terminal is for the driver to deal with.
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, str(theirs.fileno()), *preload],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env=os.environ
                | one_thread
                | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        self.channel: Connection[Any, Any] = Connection(ours.detach())
        self.tasks: deque[tuple[int, Job]] = deque()
        self.ready = False

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.channel.close()

    @property
    def name(self) -> str:
        return f"process {self.process.pid}"


class Processes:
    """So many processes, each of one thread; those that are lost are replaced.

    `preload` names modules that a worker imports before it is ready for its first job.
    """

    def __init__(self, workers: int | None = None, preload: Sequence[str] = ()) -> None:
        self._preload = preload
        self.workers = workers or available_cores()
        self.memory = machine_memory()
        self._bad_starts = 0
        self._queue: deque[tuple[int, Job]] = deque()
        self._lost: list[Done] = []
        self._pool: list[_Worker] = []  # started with the first task, if there is one

    def submit(self, number: int, job: Job) -> None:
        """Give a task to the worker that has least to do, or keep it for later."""
        while len(self._pool) < self.workers:
            self._pool.append(_Worker(self._preload))
        self._queue.append((number, job))
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
            if message is None:
                worker.ready = True
                continue
            number, result, error = message
            worker.tasks.popleft()
            done.append(Done(number, worker.name, result, error))
        self._hand_out()
        done += self._lost
        self._lost = []
        return done

    def close(self) -> None:
        """Kill the workers."""
        self._queue.clear()
        for worker in self._pool:
            worker.process.kill()
        while self._pool:
            self._pool.pop().stop()

    def _hand_out(self) -> None:
        while self._queue:
            worker = min(self._pool, key=lambda worker: len(worker.tasks))
            if len(worker.tasks) >= _AT_ONCE:
                return
            task = self._queue.popleft()
            worker.tasks.append(task)
            try:
                worker.channel.send(task)
            except OSError:
                self._replace(worker)

    def _replace(self, worker: _Worker) -> None:
        """Start another in the place of one that was lost; only what it was doing is lost too."""
        worker.stop()
        if not worker.ready:
            self._bad_starts += 1
            code = worker.process.returncode
            if self._bad_starts >= (_BAD_STARTS if code >= 0 else _KILLED_STARTS):
                raise RuntimeError(f"worker processes end before they begin, with code {code}")
        elif worker.tasks:
            number, _ = worker.tasks.popleft()
            self._lost.append(Done(number, worker.name, None, _ending(worker.process.returncode)))
        self._queue.extendleft(reversed(worker.tasks))
        self._pool[self._pool.index(worker)] = _Worker(self._preload)


def _ending(code: int) -> str:
    if code < 0:
        return f"its worker was ended by {signal.Signals(-code).name}"
    return f"its worker ended with code {code}"
