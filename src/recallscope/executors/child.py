"""Processes of our own: a channel to each, and a watchdog that ends those that hang."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import IO, Any, NamedTuple

TICK = 0.1  # seconds between looks at what may hang
GRACE = 0.5  # seconds beyond a limit that work has to end by itself, which saves a new worker
LONGEST_STOP = 2.0  # seconds for which a process may be stopped


class Deadline(NamedTuple):
    """The task that a process is at, and when that must be over."""

    task: int
    end: float


class Child:
    """A process that runs a line of Python, and the channel to it.

    It is started as `python -c` with the number of one end of a socket pair, so that a user's
    script is not imported a second time, and nothing listens anywhere.
    """

    def __init__(
        self,
        program: str,
        arguments: Sequence[str],
        environment: Mapping[str, str | None],
        output: IO[bytes] | None = None,
    ) -> None:
        ours, theirs = socket.socketpair()
        path = os.pathsep.join(each or str(Path.cwd()) for each in sys.path)
        settings = {**os.environ, "PYTHONPATH": path, **environment}
        with theirs:
            # A session of its own: Ctrl-C in the terminal is for the driver to deal with.
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", program, str(theirs.fileno()), *arguments],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={name: value for name, value in settings.items() if value is not None},
            )
        self.channel: Connection[Any, Any] = Connection(ours.detach())
        self.deadline: Deadline | None = None
        self.late: int | None = None
        """The task for which the process was killed, as it took too long."""
        self._stop = Stop()
        # Nothing is looked at, or killed, while it is cleared away.
        self._looking = threading.Lock()

    @property
    def ending(self) -> str:
        """How the process ended."""
        if self._stop.too_long:
            return f"its worker was stopped for {LONGEST_STOP:g} s"
        code = self.process.returncode
        if code < 0:
            return f"its worker was ended by {signal.Signals(-code).name}"
        return f"its worker ended with code {code}"

    def look(self) -> None:
        """Kill the process if it was stopped for long, or is late with its task."""
        with self._looking:
            if self.process.returncode is not None:
                return
            self._stop.note(_is_stopped(self.process.pid))
            deadline = self.deadline
            # What was sent in time may not have been read yet.
            if deadline and time.monotonic() > deadline.end and not wait([self.channel], 0):
                self.late = deadline.task
            if self._stop.too_long or self.late is not None:
                self.process.kill()

    def end(self, patience: float = 0.0) -> None:
        """Kill the process and wait for its end; it may have some seconds to end by itself."""
        if patience:
            with self._looking, suppress(subprocess.TimeoutExpired):
                self.channel.close()
                self.process.wait(patience)
        self.process.kill()
        with self._looking:
            self.process.wait()
            self.channel.close()


class Stop:
    """Whether a process was seen to be stopped, by SIGSTOP for one, for too long."""

    def __init__(self) -> None:
        self._since: float | None = None
        self.too_long = False

    def note(self, stopped: bool) -> None:
        """Take account of how a process is now."""
        if not stopped:
            self._since = None
            return
        now = time.monotonic()
        self._since = self._since or now
        self.too_long = self.too_long or now > self._since + LONGEST_STOP


class Watchdog:
    """A thread that looks at children, so that one that hangs is ended whatever the driver does.

    A driver that waits for a message of a killed child is told that there will be none.
    """

    def __init__(self, children: Sequence[Child]) -> None:
        self._children = children  # the list itself, which changes
        self._over = threading.Event()
        threading.Thread(target=self._run, daemon=True, name="watchdog").start()

    def _run(self) -> None:
        while not self._over.wait(TICK):
            for child in tuple(self._children):
                child.look()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()


def all_processes() -> list[int]:
    """All processes of this machine, where /proc tells."""
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]


def process_state(pid: int) -> str | None:
    """The letter by which Linux tells of a process: T if stopped, Z if dead; None if not there."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def _is_stopped(child: int) -> bool:
    """Whether a child of this process is stopped; False where the system does not say."""
    if not hasattr(os, "waitid"):
        return False
    try:
        how = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, child, how) is not None
    except ChildProcessError:
        return False
