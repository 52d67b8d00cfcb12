"""What happens when a worker dies: its cells run again, until the one that is to blame is alone.

A task of many cells is halved. A single cell that loses its worker five times has failed. Where a
pool breaks as a whole, all that was under way is suspect, and each suspect runs with nothing beside
it: so no cell is blamed for another.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import NamedTuple

from recallscope.experiment.cell import Cell
from recallscope.sweeps.executors.job import Answer

_LOSSES = 5  # of the worker of a single cell, before the cell counts as the cause


class Task(NamedTuple):
    """Cells that are sent to a worker together, with what they are predicted to take."""

    cells: tuple[Cell, ...]
    seconds: float
    memory: float

    def halves(self) -> list[Task]:
        """Two tasks in the place of this one."""
        half = len(self.cells) // 2
        parts = self.cells[:half], self.cells[half:]
        each = self.seconds / len(self.cells)
        return [self._replace(cells=part, seconds=each * len(part)) for part in parts]


class LostTasks:
    """Tasks whose worker died, in the order in which they run again."""

    def __init__(self) -> None:
        self._again: deque[Task] = deque()
        self._suspects: deque[Task] = deque()
        self._losses: Counter[Cell] = Counter()
        self._on_trial: int | None = None  # the number of the suspect under way

    @property
    def suspects(self) -> bool:
        """Whether there are tasks that must run with nothing beside them."""
        return bool(self._suspects)

    def take_suspect(self) -> Task:
        """The next of them; `on_trial` follows when it is under way."""
        return self._suspects.popleft()

    def on_trial(self, number: int) -> None:
        """Remember which of the tasks under way is the suspect."""
        self._on_trial = number

    def take(self) -> Task | None:
        """The next task that runs again among others, if there is one."""
        return self._again.popleft() if self._again else None

    def put_back(self, task: Task) -> None:
        """Keep a task for which there is no room yet."""
        self._again.appendleft(task)

    def lost(self, number: int, task: Task, answer: Answer) -> str | None:
        """Take a task that came back without its records; why it has failed, if it has."""
        if answer.suspect:
            self._suspects.append(task)
            return None
        if answer.late:
            return answer.lost
        queue = self._suspects if number == self._on_trial else self._again
        if len(task.cells) > 1:  # to find the cell that caused it, if one did
            queue.extend(task.halves())
            return None
        self._losses[task.cells[0]] += 1
        if self._losses[task.cells[0]] < _LOSSES:
            queue.append(task)
            return None
        return f"lost {_LOSSES} times: {answer.lost}"
