"""Child processes: a channel to each, and a watchdog that ends those that hang."""

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

TICK = 0.1  # seconds between checks for processes that hang
GRACE = 0.5  # seconds beyond a limit for work to end by itself, which saves a new worker
LONGEST_STOP = 2.0  # seconds for which a process may be stopped


class Deadline(NamedTuple):
    """The current task of a process, and when it must end."""

    task: int
    end: float


class Child:
    """A process that runs a line of Python, and the channel to it.

    It is started as `python -c` with the number of one end of a socket pair. So a user's script is
    not imported a second time, and no port is open.
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
            # A separate session: the driver handles Ctrl-C in the terminal.
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
        """The task that took too long, for which the process was killed."""
        self._stop = Stop()
        # A process is not checked or killed during its cleanup.
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
            # A message sent in time may not have been read yet.
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
    """Whether a process was stopped for too long, by SIGSTOP for example."""

    def __init__(self) -> None:
        self._since: float | None = None
        self.too_long = False

    def note(self, stopped: bool) -> None:
        """Update with the current state of a process."""
        if not stopped:
            self._since = None
            return
        now = time.monotonic()
        self._since = self._since or now
        self.too_long = self.too_long or now > self._since + LONGEST_STOP


class Watchdog:
    """A thread that checks children, and kills those that hang whatever the driver does.

    If the driver waits for a message of a killed child, it gets an end of file.
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
    """All processes of this machine, where /proc exists."""
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]


def process_state(pid: int) -> str | None:
    """The state of a process on Linux: T if stopped, Z if dead, None if there is no process."""
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
