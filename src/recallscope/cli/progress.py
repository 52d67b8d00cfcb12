"""Progress with an estimate of the time left: a bar in a terminal, plain lines in a log."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from recallscope.cli.terminal import console
from recallscope.common.formatting import format_duration, printable

if TYPE_CHECKING:
    from rich.progress import Progress

_PATIENCE = 1.0  # seconds before anything is shown
_FIRST_LINE, _BETWEEN_LINES = 5.0, 10.0  # seconds, in a log
_ENOUGH, _ENOUGH_SECONDS = 0.05, 3.0  # of the work: an estimate needs as much


class ProgressDisplay:
    """Shows how far a known amount of work has come, on stderr, once it takes a while."""

    def __init__(self, what: str) -> None:
        self._what = printable(what)
        self._console = console(stderr=True)
        self._started = time.monotonic()
        self._next_line = self._started + _FIRST_LINE
        self._bar: Progress | None = None

    def __enter__(self) -> ProgressDisplay:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(
        self, done: float, total: float, note: str = "", elapsed: float | None = None
    ) -> None:
        """Show how much of the work is done, with a note.

        `elapsed` is the time of the work in seconds, if it began before the display.
        """
        now = time.monotonic()
        if now - self._started < _PATIENCE:
            return
        left = _time_left(done, total, now - self._started if elapsed is None else elapsed)
        if self._console.is_terminal:
            self._update_bar(done, total, left, note)
        elif now >= self._next_line and done < total:
            self._next_line = now + _BETWEEN_LINES
            far = f"{done / total:.0%}, {left}" if done else "soon to begin"
            self._console.print(f"{self._what}: {far}{note and '; '}{note}", soft_wrap=True)

    def say(self, line: str) -> None:
        """Show a line at once, above the bar if there is one."""
        (self._bar.console if self._bar else self._console).print(printable(line), soft_wrap=True)

    def _update_bar(self, done: float, total: float, left: str, note: str) -> None:
        if self._bar is None:
            from rich.progress import BarColumn, Progress, TextColumn

            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f} %"),
                TextColumn("{task.fields[left]}", style="progress.remaining"),
                TextColumn("{task.fields[note]}", markup=False),
                console=self._console,
                transient=True,
            )
            self._bar.add_task(self._what, left="", note="")
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done, total=total, left=left, note=note)


def _time_left(done: float, total: float, elapsed: float) -> str:
    """About how long it will still take, once enough is done to estimate it.

    >>> _time_left(30, 100, 6.0), _time_left(1, 100, 60.0), _time_left(30, 100, 0.5)
    ('about 14 s left', 'estimating', 'estimating')
    """
    if done < _ENOUGH * total or elapsed < _ENOUGH_SECONDS:
        return "estimating"
    return f"about {format_duration(elapsed * (total - done) / done)} left"
