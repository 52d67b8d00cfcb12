"""Drawing on all cores: it takes most of the time of a report, and figures are independent."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from recallscope.common.machine import available_cores
from recallscope.executors.base import Executor, numbers
from recallscope.executors.registry import running
from recallscope.plotting.picture_job import PictureJob

_PATIENCE = 0.2  # seconds to wait for workers at a time


class Drawings:
    """Drawings by name, requested as soon as they are known, and taken when they are needed.

    >>> from recallscope.results.panels import Picture
    >>> from recallscope.executors.serial import Serial
    >>> drawn = Drawings(Serial())
    >>> drawn.ask("empty", PictureJob(Picture(caption=""), "", ("pdf", "svg")))
    >>> [content[:5] for content in drawn.take("empty")]
    [b'%PDF-', b'<?xml']
    """

    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._asked: dict[Hashable, PictureJob] = {}
        self._names: dict[int, Hashable] = {}
        self._done: dict[Hashable, list[bytes]] = {}

    def ask(self, name: Hashable, drawing: PictureJob) -> None:
        """Request a drawing, unless it was requested before."""
        if name not in self._asked:
            number = next(numbers)
            self._asked[name], self._names[number] = drawing, name
            self._pool.submit(number, drawing)
            self._collect(0)  # a worker without tasks gets more

    def take(self, name: Hashable) -> list[bytes]:
        """The drawing; waits for it."""
        while name not in self._done:
            self._collect(_PATIENCE)
        return self._done[name]

    def _collect(self, patience: float) -> None:
        for each in self._pool.finished(patience):
            place = self._names[each.number]
            # A drawing that workers lost is drawn here, or fails here with its reason.
            lost = each.lost is not None
            self._done[place] = self._asked[place].run() if lost else each.value()


@contextmanager
def drawings(many: bool) -> Iterator[Drawings]:
    """Drawings by all cores if there are many, since starting a worker takes as long as a few."""
    executor = "processes" if many and available_cores() > 1 else "serial"
    with running(executor, preload=["recallscope.plotting.picture"]) as pool:
        yield Drawings(pool)
