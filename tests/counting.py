"""An executor that counts how many tasks it was given at a time."""

from __future__ import annotations

from recallscope.executors.base import Done
from recallscope.executors.serial import Serial


class Counting(Serial):
    """Says that it has four workers, and remembers the most tasks that were under way."""

    def __init__(self, memory: float) -> None:
        super().__init__()
        self.workers, self.memory, self.most = 4, memory, 0

    def finished(self, timeout: float) -> list[Done]:
        """Do the next task."""
        self.most = max(self.most, len(self._queue))
        return super().finished(timeout)
