"""Limits of time and memory on one cell: what exceeds them has failed, and says so."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from recallscope.machine import gibibytes
from recallscope.problem import ProblemError
from recallscope.record import Record, Status

_NO_MEMORY = (
    "MemoryError",
    "can't allocate memory",
    "not enough memory",
    "bad_alloc",
    "can't start new thread",
)
_LONGEST = 1e9  # seconds
_LEAST_MEMORY = 2**26  # bytes; with less, threads do not start


class TimeLimitError(Exception):
    """A cell took longer than it may."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most seconds, and bytes beyond what the process has already, that a cell may take."""

    seconds: float | None = None
    memory: float | None = None

    def __post_init__(self) -> None:
        if self.seconds is not None and not 0 < self.seconds <= _LONGEST:
            raise ProblemError(
                f"the time limit must be above 0 and at most 1e9 seconds, not {self.seconds!r:.60}"
            )
        if self.memory is not None and not _LEAST_MEMORY <= self.memory < math.inf:
            raise ProblemError(
                f"the memory limit must be at least {_LEAST_MEMORY} bytes, not {self.memory!r:.60}"
            )

    def hold(self, run: Callable[[], Record], failed: Callable[[str], Record]) -> Record:
        """The record of a run within the limits, or a failed one with the limit as its reason."""
        if self.seconds is None and self.memory is None:
            return run()
        too_long = f"took longer than the limit of {self.seconds:g} s" if self.seconds else ""
        too_large = f"needed more than the limit of {gibibytes(self.memory or 0)} of memory"
        try:
            with _alarm(self.seconds, too_long), _ceiling(self.memory):
                record = run()
        except TimeLimitError:
            return failed(too_long)
        except MemoryError:
            return failed(too_large)
        if record.status is Status.FAILED and record.reason:
            if TimeLimitError.__name__ in record.reason:
                return replace(record, reason=too_long)
            if self.memory is not None and any(sign in record.reason for sign in _NO_MEMORY):
                return replace(record, reason=too_large)
        return record


@contextmanager
def _alarm(seconds: float | None, message: str) -> Iterator[None]:
    """Raise in the midst of the cell when its time is up."""
    if seconds is None:
        yield
        return
    if threading.current_thread() is not threading.main_thread():
        raise ProblemError("a limit of time holds in the main thread only; leave it out here")

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeLimitError(message)

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _ceiling(memory: float | None) -> Iterator[None]:
    """Let the process allocate so much beyond what it has, and no more."""
    if memory is None:
        yield
        return
    import resource  # which not every system has

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = _allocated() + int(memory)
    resource.setrlimit(
        resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
    )
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _allocated() -> int:
    """Bytes of private memory this process has asked for."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        raise ProblemError("a limit of memory can be held on Linux only; leave it out") from None
    line = next(line for line in status.splitlines() if line.startswith("VmData:"))
    return 1024 * int(line.split()[1])
