"""Workers of this process that do a job when they are asked for answers, as tests need them."""

from __future__ import annotations

import math
from collections import deque

from recallscope.sweeps.executors.job import Answer, Job, run_job
from recallscope.sweeps.executors.serial import Serial
from recallscope.sweeps.executors.workers import Workers


class OneByOne(Workers):
    """Some workers, of which one does the first job that waits."""

    def __init__(self, count: int = 1, memory: float = math.inf) -> None:
        super().__init__(Serial(), count, memory, ahead=2)
        self.waiting: deque[tuple[int, Job]] = deque()
        self.most = 0
        """Jobs that were under way at a time."""

    def submit(self, job: Job) -> int:
        """Let a job wait."""
        number = next(self._numbers)
        self.waiting.append((number, job))
        self.most = max(self.most, len(self.waiting))
        return number

    def finished(self, timeout: float) -> list[tuple[int, Answer]]:
        """Do the first job."""
        number, job = self.waiting.popleft()
        return [(number, self.answer(number, job))]

    def answer(self, number: int, job: Job) -> Answer:
        """Do a job."""
        return run_job(job)
