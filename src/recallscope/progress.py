"""Progress with an estimate of the time left: a bar in a terminal, plain lines in a log."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

_PATIENCE = 1.0  # seconds before anything is shown
_BETWEEN_LINES = 10.0  # seconds, in a log


class ProgressDisplay:
    """Shows how far a known amount of work has come, on stderr, once it takes a while."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._console = Console(stderr=True)
        self._started = time.monotonic()
        self._last_line = self._started
        self._bar: Progress | None = None

    def __enter__(self) -> ProgressDisplay:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: float, total: float) -> None:
        """Say that so much of so much is done."""
        now = time.monotonic()
        if now - self._started < _PATIENCE:
            return
        if self._console.is_terminal:
            self._update_bar(done, total)
        elif now - self._last_line >= _BETWEEN_LINES:
            self._last_line = now
            left = (now - self._started) * (total - done) / done
            self._console.print(
                f"{self._what}: {done / total:.0%}, about {_duration(left)} left", highlight=False
            )

    def _update_bar(self, done: float, total: float) -> None:
        if self._bar is None:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f} %"),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._bar.add_task(self._what)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done, total=total)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
