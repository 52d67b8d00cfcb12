"""Limits of time and memory on one job: what exceeds them fails, and the reason names the limit."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from recallscope.common.formatting import format_bytes
from recallscope.problem import ProblemError

_NO_MEMORY = (
    "MemoryError",
    "can't allocate memory",
    "not enough memory",
    "bad_alloc",
    "can't start new thread",
)
_LONGEST = 1e9  # seconds
_LEAST_MEMORY = 2**26  # bytes; with less, threads do not start


class LimitError(Exception):
    """Job took more time or memory than it may; the message says how much that is."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most seconds, and bytes beyond what the process has already, that work may take."""

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

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Raise `LimitError` in the midst of work that exceeds a limit."""
        with _alarm(self.seconds), _ceiling(self.memory):
            try:
                yield
            except MemoryError:
                if self.memory is None:
                    raise
                raise LimitError(self._too_large) from None

    def exceeded(self, reason: str) -> str | None:
        """The limit that lies behind an error which the work has caught itself, if one does."""
        if LimitError.__name__ in reason:
            return too_long(self.seconds)
        if self.memory is not None and any(sign in reason for sign in _NO_MEMORY):
            return self._too_large
        return None

    @property
    def _too_large(self) -> str:
        return f"needed more than the limit of {format_bytes(self.memory or 0)} of memory"


def too_long(seconds: float | None) -> str:
    """Why a task that took longer than it might has failed."""
    return f"took longer than the limit of {seconds or 0:g} s"


@contextmanager
def _alarm(seconds: float | None) -> Iterator[None]:
    """Raise in the midst of the work when its time is up.

    That waits for the end of a call into torch, and not every system has it. But it is cheaper than
    the end of the worker, which comes if this does not.
    """
    if seconds is None or not hasattr(signal, "SIGALRM"):
        yield
        return
    if threading.current_thread() is not threading.main_thread():
        raise ProblemError("a limit of time holds in the main thread only; leave it out here")

    def ring(number: int, frame: FrameType | None) -> None:
        raise LimitError(too_long(seconds))

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
