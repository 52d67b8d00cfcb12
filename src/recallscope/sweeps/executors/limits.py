"""Limits of time and memory for a job; a job beyond them fails, and the reason says why."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from recallscope.common.errors import ProblemError
from recallscope.common.formatting import format_bytes

_NO_MEMORY = "MemoryError|can't allocate memory|not enough memory|bad_alloc|can't start new thread"
_LONGEST = 1e9  # seconds
_LEAST_MEMORY = 2**26  # bytes; with less, threads do not start


class LimitError(Exception):
    """Job needed more memory than its limit; the message names the limit."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most seconds that work may take, and the most bytes that it may allocate."""

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
        """Raise `LimitError` within work that needs too much memory."""
        with _ceiling(self.memory):
            try:
                yield
            except MemoryError:
                if self.memory is None:
                    raise
                raise LimitError(self._too_large) from None

    def exceeded(self, reason: str) -> str | None:
        """The limit behind an error that the work caught itself, if there is one."""
        if self.memory is not None and re.search(_NO_MEMORY, reason):
            return self._too_large
        return None

    @property
    def _too_large(self) -> str:
        return f"needed more than the limit of {format_bytes(self.memory or 0)} of memory"


def too_long(seconds: float) -> str:
    """Why a job beyond its time limit failed."""
    return f"took longer than the limit of {seconds:g} s"


@contextmanager
def _ceiling(memory: float | None) -> Iterator[None]:
    """Let the process allocate at most `memory` bytes beyond what it has."""
    if memory is None:
        yield
        return
    import resource  # not available on every system

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
        raise ProblemError("a memory limit works on Linux only; leave it out") from None
    line = next(line for line in status.splitlines() if line.startswith("VmData:"))
    return 1024 * int(line.split()[1])
