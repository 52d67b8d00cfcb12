"""Where work is done: one small interface, and the executor that needs nothing else."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any, NamedTuple, Protocol

from recallscope.common.machine import machine_memory
from recallscope.problem import ProblemError

numbers = itertools.count()
"""Numbers for tasks, none given twice in this process: what is left of work that was broken off may
still come back from an executor that still runs, and must not be taken for another's."""


class Job(Protocol):
    """Something to do that can travel to another process."""

    def run(self) -> Any:
        """Do it."""


class Done(NamedTuple):
    """A task that came to its end, or whose worker did."""

    number: int
    worker: str
    result: Any
    lost: str | None = None
    """Why there is no result: how the worker ended, or the error that the work raised."""


def attempt(job: Job) -> tuple[Any, str | None]:
    """What the work returns, or None and the error that it raised.

    A mistake of the user's is raised, as it would be made again.
    """
    try:
        return job.run(), None
    except ProblemError:
        raise
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


class Executor(Protocol):
    """Threads that are given numbered tasks and hand back their results in any order."""

    workers: int
    memory: float
    """Bytes that all workers share."""

    def submit(self, number: int, job: Job) -> None:
        """Take a task; returns at once."""

    def finished(self, timeout: float) -> list[Done]:
        """Wait for at least one task to finish, but no longer than so many seconds."""

    def close(self) -> None:
        """Stop everything at once; what is under way is dropped."""


class Serial:
    """No workers but this process."""

    def __init__(self) -> None:
        self.workers = 1
        self.memory = machine_memory()
        self._queue: deque[tuple[int, Job]] = deque()

    def submit(self, number: int, job: Job) -> None:
        """Put a task at the end of the queue."""
        self._queue.append((number, job))

    def finished(self, timeout: float) -> list[Done]:
        """Do the next task, however long it takes."""
        if not self._queue:
            return []
        number, job = self._queue.popleft()
        return [Done(number, "this process", *attempt(job))]

    def close(self) -> None:
        """Forget what was not done."""
        self._queue.clear()
