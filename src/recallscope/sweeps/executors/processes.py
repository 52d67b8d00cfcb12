"""Processes of this machine: a thread for each, which owns a pool of one by loky.

So a worker that dies, or is killed as it is late, takes no other job along, which it does in a pool
of several. `reproduction/studies/faults/pools.csv` compares five pools.
"""

from __future__ import annotations

import importlib
import math
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from loky import ProcessPoolExecutor

from recallscope.common.machine import available_cores
from recallscope.sweeps.executors.job import ExecutorError, LateError, LostWorkerError, in_words
from recallscope.sweeps.executors.limits import too_long

_STARTS = 5  # tries to start a worker, which something outside may kill too
_BETWEEN_LOOKS = 1.0  # seconds
_PARENT_LOOKS = 0.2  # seconds


class _Worker(NamedTuple):
    pool: Any
    pid: int


class Processes(Executor):
    """A number of processes with one thread each; lost ones are replaced.

    Args:
        workers: how many; as many as there are cores if None.
        time_limit: seconds that a job may take before its worker is killed.
        preload: names of modules that a worker imports before its first job.
        one_thread: False for workers that use as many threads as torch would in this process.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        time_limit: float | None = None,
        preload: Sequence[str] = (),
        one_thread: bool = True,
    ) -> None:
        self.workers = workers or available_cores()
        self._time_limit = math.inf if time_limit is None else time_limit
        self._preload, self._one_thread = tuple(preload), one_thread
        self._threads = ThreadPoolExecutor(self.workers, thread_name_prefix="recallscope worker")
        self._own = threading.local()
        self._living: set[_Worker] = set()
        self._changing = threading.Lock()
        self._over = False

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Take a call; a worker is started for it if all are busy and there may be one more."""
        return self._threads.submit(self._run, partial(function, *args, **kwargs))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Start nothing more, and end the workers; with `cancel_futures` in the midst of work."""
        if cancel_futures:
            with self._changing:
                self._over = True
                for worker in self._living:
                    _kill(worker)
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            for worker in tuple(self._living):
                self._end(worker)

    def _run(self, call: Callable[[], Any]) -> Any:
        """Run a call in the process of this thread."""
        worker = getattr(self._own, "worker", None) or self._start()
        self._own.worker = worker
        try:
            return self._result(worker, worker.pool.submit(call))
        except (LateError, LostWorkerError, BrokenExecutor) as error:
            self._own.worker = None
            self._end(worker)
            if isinstance(error, BrokenExecutor):
                raise LostWorkerError(_ending(error)) from None
            raise

    def _result(self, worker: _Worker, future: Future[Any]) -> Any:
        """Wait for a result, the time limit, or the end of the worker."""
        end = time.monotonic() + self._time_limit
        while True:
            wait([future], min(_BETWEEN_LOOKS, max(end - time.monotonic(), 0.0)))
            if future.done():
                return future.result()
            if time.monotonic() >= end:
                raise LateError(too_long(self._time_limit))
            if _has_ended(worker.pid) and not wait([future], _BETWEEN_LOOKS).done:
                # loky still waits for the rest of the answer.
                raise LostWorkerError("its worker ended in the midst of its answer")

    def _start(self) -> _Worker:
        """A process that is ready for its first job."""
        environment = {"LOKY_MAX_MEMORY_LEAK_SIZE": "1e18"}  # a large result is no leak
        if self._one_thread:
            environment |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        for left in reversed(range(_STARTS)):
            pool = ProcessPoolExecutor(
                1,
                initializer=_begin,
                initargs=(os.getpid(), self._preload, self._one_thread),
                env=environment,
            )
            try:
                worker = _Worker(pool, pool.submit(os.getpid).result())
            except BrokenExecutor as error:
                pool.shutdown(wait=False)
                if not left or self._over:
                    raise ExecutorError(
                        f"worker processes end before they begin: {_ending(error)}"
                    ) from None
                continue
            with self._changing:
                self._living.add(worker)
                if self._over:
                    _kill(worker)
            return worker
        raise AssertionError("the last try returns or raises")

    def _end(self, worker: _Worker) -> None:
        with self._changing:
            _kill(worker)
            self._living.discard(worker)
        worker.pool.shutdown(wait=False)
        if worker.pool._result_queue is not None:
            # A thread of loky's waits for the rest of an answer, if the worker was killed in the
            # midst of one, and Python for that thread when it exits: this ends the wait.
            worker.pool._result_queue._writer.close()


def _begin(driver: int, preload: Sequence[str], one_thread: bool) -> None:
    """Prepare a worker: it hears no Ctrl-C, ends with its driver, and has what jobs need."""
    os.setsid()
    threading.Thread(target=_end_with, args=(driver,), daemon=True).start()
    for name in preload:
        importlib.import_module(name)
    if one_thread and "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _end_with(driver: int) -> None:
    while os.getppid() == driver:
        time.sleep(_PARENT_LOOKS)
    os._exit(1)


def _kill(worker: _Worker) -> None:
    """End the process, unless it is gone already: its number may then be that of another."""
    if not _has_ended(worker.pid):
        with suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGKILL)


def _has_ended(child: int) -> bool:
    """Whether a child of this process has ended; False where the system does not say."""
    if not hasattr(os, "waitid"):
        return False
    try:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _ending(error: BaseException) -> str:
    """How a worker ended, from loky's words."""
    codes = re.search(r"exit codes of the workers are \{(.*)\}", str(error))
    return f"its worker ended with {codes[1]}" if codes else in_words(error)
