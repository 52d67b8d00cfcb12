"""An executor as a sweep uses it: how many workers it has, jobs under way, and lost workers."""

from __future__ import annotations

import contextlib
import itertools
import math
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager
from typing import Any, NamedTuple

from recallscope.common.checks import choice, shown, whole_number
from recallscope.common.errors import ProblemError
from recallscope.common.machine import machine_memory, memory_left
from recallscope.sweeps.executors.job import (
    Answer,
    ExecutorError,
    Job,
    LateError,
    in_words,
    not_loaded,
    pack_job,
    run_job,
    run_sent,
)
from recallscope.sweeps.executors.limits import Limits
from recallscope.sweeps.executors.serial import Serial

EXECUTORS = ("serial", "processes", "ray")
ExecutorLike = str | Executor | Callable[[], Executor]
"""A name, an executor, or a function that makes one, which is called again when it breaks."""

_NO_LIMITS = Limits()
_BETWEEN_POLLS = 0.1  # seconds; for futures that tell nobody when they are done
_BREAKS = 30  # of an executor in a row; an always crashing cell causes some ten


class Workers:
    """Jobs under way with an executor, each under a number.

    Args:
        executor: where jobs are submitted.
        count: how many run at once.
        memory: bytes that all of them share.
        ahead: jobs under way for each worker: the one it runs, and those that wait for it.
        exact: whether a lost job lost its own worker, not one that another job may have ended.
        make: makes the executor anew when it is broken, as pools are when a worker dies.
    """

    def __init__(
        self,
        executor: Executor,
        count: int,
        memory: float = math.inf,
        *,
        ahead: int = 1,
        exact: bool = False,
        make: Callable[[], Executor] | None = None,
    ) -> None:
        self.count, self.memory = count, memory
        self._executor, self._make = executor, make
        self._here = isinstance(executor, Serial)
        self._exact = exact
        self.under_way = ahead * count
        self._numbers = itertools.count()
        self._futures: dict[int, Future[Any]] = {}
        self._done: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._polled: set[int] = set()
        self._breaks = 0

    def submit(self, job: Job) -> int:
        """Send a job to a worker; the number of the job."""
        number = next(self._numbers)
        try:
            if self._here:
                future = self._executor.submit(run_job, job)
            else:
                future = self._executor.submit(run_sent, pack_job(job))
        except BrokenExecutor as error:
            future = Future()
            future.set_exception(error)
        self._futures[number] = future
        if hasattr(future, "add_done_callback"):
            future.add_done_callback(lambda _: self._done.put(number))
        else:
            self._polled.add(number)
        return number

    def finished(self, timeout: float) -> list[tuple[int, Answer]]:
        """The jobs that have ended; waits for one, but no longer than `timeout` seconds."""
        ended = self._ended(timeout)
        answers = [(number, self._answer(self._futures[number])) for number in ended]
        if any(answer is None for _, answer in answers):
            return self._break()
        for number in ended:
            del self._futures[number]
            self._polled.discard(number)
        if ended:
            self._breaks = 0
        return [(number, answer) for number, answer in answers if answer is not None]

    def drop(self) -> None:
        """Forget what is under way, and cancel what has not begun."""
        for future in self._futures.values():
            future.cancel()
        self._futures.clear()
        self._polled.clear()

    def close(self) -> None:
        """End the executor; one of ours also in the midst of its work."""
        self.drop()
        if self._make is None:
            self._executor.shutdown(cancel_futures=True)
        else:
            self._executor.shutdown(wait=False)

    def _ended(self, timeout: float) -> list[int]:
        """The numbers of jobs that have ended, of those that are under way."""
        end = time.monotonic() + timeout
        while True:
            wait = max(end - time.monotonic(), 0.0)
            ended: list[int] = []
            with contextlib.suppress(queue.Empty):
                longest = min(wait, _BETWEEN_POLLS) if self._polled else wait
                ended.append(self._done.get(timeout=longest))
                while True:
                    ended.append(self._done.get_nowait())
            ended += [number for number in self._polled if self._futures[number].done()]
            ended = [number for number in ended if number in self._futures]
            if ended or time.monotonic() >= end:
                return ended

    def _answer(self, future: Future[Any]) -> Answer | None:
        """What became of a job; None if its executor is broken."""
        try:
            error = future.exception()
        except CancelledError:
            raise ExecutorError("the executor has cancelled a job; is it closed?") from None
        if error is None:
            answer: Answer = future.result()
            return answer
        if isinstance(error, ExecutorError):
            raise ExecutorError(str(error)) from error
        if isinstance(error, LateError):
            return Answer(lost=str(error), late=True)
        if isinstance(error, (ImportError, AttributeError)):
            return Answer(mistake=not_loaded(error))
        if isinstance(error, BrokenExecutor):
            return None
        suspect = len(self._futures) > 1 and not self._exact
        return Answer(lost=in_words(error), suspect=suspect)

    def _break(self) -> list[tuple[int, Answer]]:
        """Make the executor anew; the jobs under way are lost, of which one is to blame."""
        suspect = len(self._futures) > 1
        answers = []
        for number, future in self._futures.items():
            answer = self._answer(future) if future.done() else None
            if answer is None:
                error = future.exception() if future.done() else None
                reason = "its worker died" if error is None else in_words(error)
                answer = Answer(lost=reason, suspect=suspect)
            answers.append((number, answer))
        self._futures.clear()
        self._polled.clear()
        self._breaks += 1
        reason = next(answer.lost for _, answer in answers if answer.lost)
        if self._make is None:
            raise ExecutorError(
                f"the executor broke: {reason}; give a function that makes it, such as "
                "executor=lambda: ProcessPoolExecutor(4), for it to be made anew"
            )
        if self._breaks > _BREAKS:
            raise ExecutorError(f"the executor broke {self._breaks} times in a row: {reason}")
        self._executor.shutdown(wait=False)
        self._executor = self._make()
        return answers


class _Made(NamedTuple):
    workers: Workers
    ours: bool
    """Whether it was made for this work, and ends with it."""


@contextmanager
def workers_of(
    executor: ExecutorLike,
    workers: int | None = None,
    address: str | None = None,
    limits: Limits = _NO_LIMITS,
    preload: Sequence[str] = (),
) -> Iterator[Workers]:
    """The workers of an executor, ended afterwards; an executor of the caller is left open.

    `preload` names modules that processes import before their first job.

    >>> with workers_of("serial") as pool:
    ...     pool.count
    1
    """
    check_executor(executor, workers, address, limits)
    pool, ours = _make(executor, workers, address, limits, preload)
    try:
        yield pool
    finally:
        if ours:
            pool.close()
        else:
            pool.drop()


def check_executor(
    executor: object,
    workers: int | None = None,
    address: str | None = None,
    limits: Limits = _NO_LIMITS,
) -> None:
    """Raise unless there is such an executor with such options."""
    if workers is not None:
        whole_number("workers", workers, 1, 10**5)
    if isinstance(executor, str):
        choice("executor", executor, EXECUTORS)
        if executor == "serial" and workers not in (None, 1):
            raise ProblemError(
                "the serial executor has one worker; choose processes or ray for more"
            )
        if address is not None and executor != "ray":
            raise ProblemError(f"an address is for the executor ray, not for {executor}")
        return
    if not callable(executor) and not hasattr(executor, "submit"):
        raise ProblemError(
            f"an executor is {', '.join(EXECUTORS)}, a concurrent.futures.Executor, or a function "
            f"that makes one, not {shown(executor)}"
        )
    if address is not None:
        raise ProblemError("an address is for the executor ray, not for one of yours")
    if limits != _NO_LIMITS:
        raise ProblemError(
            "limits of time and memory are kept by the executors serial, processes and ray; "
            "recallscope cannot end a job in another: leave them out"
        )


def _make(
    executor: ExecutorLike,
    workers: int | None,
    address: str | None,
    limits: Limits,
    preload: Sequence[str],
) -> _Made:
    if executor == "serial" and limits.seconds is None:
        return _Made(Workers(Serial(), 1, machine_memory()), True)
    if executor in ("serial", "processes"):  # this process could not kill itself and go on
        from recallscope.sweeps.executors.processes import Processes

        serial = executor == "serial"
        pool = Processes(
            1 if serial else workers,
            time_limit=limits.seconds,
            preload=preload,
            one_thread=not serial,
        )
        return _Made(Workers(pool, pool.workers, memory_left(), ahead=2, exact=True), True)
    if executor == "ray":
        from recallscope.sweeps.executors.ray import RayExecutor

        cluster = RayExecutor(workers, address, time_limit=limits.seconds)
        return _Made(Workers(cluster, cluster.workers, cluster.memory, ahead=2, exact=True), True)
    assert not isinstance(executor, str)
    if isinstance(executor, Executor) or not callable(executor):
        return _Made(Workers(executor, workers or _count_of(executor)), False)
    made = executor()
    return _Made(Workers(made, workers or _count_of(made), make=executor), True)


def _count_of(executor: Executor) -> int:
    """How many workers an executor of the user's has, where it says so."""
    for name in ("_max_workers", "num_workers"):  # the standard pools and loky; mpi4py
        count = getattr(executor, name, None)
        if isinstance(count, int):
            return count
    raise ProblemError(
        f"a {type(executor).__name__} does not say how many workers it has; give workers="
    )
