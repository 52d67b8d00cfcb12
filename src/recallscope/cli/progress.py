"""Progress with an estimate of the time left: a bar in a terminal, plain lines in a log."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from recallscope.common.formatting import format_duration

_PATIENCE = 1.0  # seconds before anything is shown
_BETWEEN_LINES = 10.0  # seconds, in a log
_TELLING = 0.05  # of the work: what took less to do says nothing about the rest


class _TimeLeft(TimeRemainingColumn):
    """The time left, once enough is done to tell."""

    def render(self, task: Task) -> Text:
        if task.percentage < 100 * _TELLING:
            return Text("-:--:--", style="progress.remaining")
        return super().render(task)


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

    def update(self, done: float, total: float, note: str = "") -> None:
        """Say that so much of so much is done, and what else there is to say of it."""
        now = time.monotonic()
        if now - self._started < _PATIENCE:
            return
        if self._console.is_terminal:
            self._update_bar(done, total, note)
        elif now - self._last_line >= _BETWEEN_LINES:
            self._last_line = now
            left = f"{done / total:.0%}" if done else "soon to begin"
            if done >= _TELLING * total:
                seconds = (now - self._started) * (total - done) / done
                left += f", about {format_duration(seconds)} left"
            line = f"{self._what}: {left}{note and '; '}{note}"
            self._console.print(line, highlight=False, soft_wrap=True)

    def say(self, line: str) -> None:
        """Show a line at once, above the bar if there is one."""
        (self._bar.console if self._bar else self._console).print(
            line, highlight=False, soft_wrap=True, markup=False
        )

    def _update_bar(self, done: float, total: float, note: str) -> None:
        if self._bar is None:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f} %"),
                _TimeLeft(),
                TextColumn("{task.fields[note]}"),
                console=self._console,
                transient=True,
            )
            self._bar.add_task(self._what, note="")
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done, total=total, note=note)
