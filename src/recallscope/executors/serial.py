"""Jobs one after the other, in this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from recallscope.common.machine import machine_memory
from recallscope.executors.base import Done, Job, attempt
from recallscope.executors.processes import Processes


class Serial:
    """Runs tasks in this process, and tasks with a time limit in one other process.

    This process could not kill itself and continue. `preload` is for the other one.
    """

    def __init__(self, preload: Sequence[str] = ()) -> None:
        self.workers = 1
        self.memory = machine_memory()
        self._preload = preload
        self._queue: deque[tuple[int, Job]] = deque()
        self._other: Processes | None = None

    def submit(self, number: int, job: Job, seconds: float | None = None) -> None:
        """Put a task at the end of the queue."""
        if seconds is None:
            self._queue.append((number, job))
            return
        if self._other is None:
            self._other = Processes(1, self._preload, one_thread=False)
        self._other.submit(number, job, seconds)

    def finished(self, timeout: float) -> list[Done]:
        """Do the next task to its end, or wait for a task with a time limit."""
        if self._queue:
            number, job = self._queue.popleft()
            return [Done(number, "this process", *attempt(job))]
        return [] if self._other is None else self._other.finished(timeout)

    def close(self) -> None:
        """Drop the remaining tasks."""
        self._queue.clear()
        if self._other is not None:
            self._other.close()
            self._other = None
