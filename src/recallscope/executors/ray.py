"""Tasks on Ray: a private local cluster, or a cluster that runs already.

Ray itself is in a separate process, `ray_driver`. A local cluster is isolated from others: it
listens on loopback only, requires a token that only this user can read, has no dashboard and sends
no usage statistics.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pickle
import secrets
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recallscope.common.extras import missing
from recallscope.common.machine import available_cores, memory_left
from recallscope.executors.base import Done, Job, packed_job
from recallscope.executors.child import TICK, Child, Stop, Watchdog, all_processes, process_state
from recallscope.executors.ray_guard import clear_up, cluster_processes, start_guard
from recallscope.executors.same_code import own_code
from recallscope.problem import ProblemError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

STARTS = 5  # tries to start a cluster
LONGEST_START = 60.0  # seconds; a process that is stopped meanwhile can block it
LONGEST_JOIN = 30.0  # seconds; the server at an address may not be Ray, and never answer
LONGEST_SEARCH = 5  # seconds in which Ray must find its node on this host; it would take 60
LONGEST_SILENCE = 2.0  # seconds of joining before this is said
PATIENCE = 3.0  # seconds that a cluster may take to answer the first probe, or to be left
CLUSTER_MEMORY = 500 * 2**20  # bytes of Ray's own processes
_SEARCH = "RAY_gcs_server_request_timeout_seconds"
_START = "import sys; from recallscope.executors.ray_driver import serve; serve(int(sys.argv[1]))"


class RayExecutor:
    """Runs tasks on Ray, one at a time on each CPU.

    Without an address it starts a private cluster on this machine and ends it in `close`. With one
    it joins that cluster and leaves it running. A task comes back as lost if its worker died. So do
    all tasks in flight if the private cluster dies, which is then started again.
    """

    workers: int
    memory: float

    def __init__(
        self, workers: int | None = None, address: str | None = None, preload: Sequence[str] = ()
    ) -> None:
        if importlib.util.find_spec("ray") is None:
            raise ProblemError(missing("ray"))
        self._preload = tuple(preload)
        self._tasks: dict[int, _Task] = {}
        self._begun: dict[int, str] = {}  # tasks that are with a worker, and its name
        self._done: list[Done] = []
        self._cluster: _LocalCluster | _JoinedCluster = (
            _LocalCluster(workers) if address is None else _JoinedCluster(workers, address)
        )
        self._drivers: list[Child] = []  # one, or none; for the watchdog
        self._watchdog = Watchdog(self._drivers)
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def submit(self, number: int, job: Job, seconds: float | None = None) -> None:
        """Take a task; return at once."""
        self._tasks[number] = _Task(packed_job(job), seconds)
        self._send(number)

    def finished(self, timeout: float) -> list[Done]:
        """Tasks that are finished or lost: wait for the first, but not longer than the timeout."""
        deadline = time.monotonic() + timeout
        while True:
            self._hear(min(TICK, max(0.0, deadline - time.monotonic())))
            if not self._cluster.alive():
                self._recover()
            if self._done or not self._tasks or time.monotonic() >= deadline:
                done, self._done = self._done, []
                return done

    def close(self) -> None:
        """End the private cluster, or leave the joined one, at once, even if tasks still run."""
        self._tasks, self._begun = {}, {}
        self._watchdog.stop()
        self._stop()

    def _start(self) -> None:
        """Start or join the cluster; retry, since whatever kills a raylet may kill the next one."""
        if self._cluster.address is not None:
            self._join(self._cluster.address)
            return
        for left in reversed(range(STARTS)):
            try:
                self._launch()
                return
            except ProblemError:
                raise
            except Exception:
                self._stop()
                if not left:
                    raise

    def _join(self, address: str) -> None:
        """Join a cluster in one try; only the user can fix what prevents it."""
        said = f"recallscope: joining the Ray cluster at {address} ..."
        notice = threading.Timer(LONGEST_SILENCE, print, [said], {"file": sys.stderr})
        notice.daemon = True
        notice.start()
        try:
            self._launch()
        except (RuntimeError, OSError) as error:
            raise ProblemError(
                f"the Ray cluster at {address} cannot be joined: {error}; check that this is "
                "the address of a Ray cluster that runs"
            ) from error
        finally:
            notice.cancel()

    def _launch(self) -> None:
        arguments, environment = self._cluster.prepare()
        with tempfile.TemporaryFile() as output:  # keeps output of Ray off our terminal
            driver = Child(_START, arguments, environment, output)
            self._drivers.append(driver)
            try:
                plan = (self._cluster.address, self._cluster.workers, self._preload, own_code())
                driver.channel.send(plan)
                self._await(driver)
                kind, *what = driver.channel.recv()
            except (EOFError, OSError) as error:
                output.seek(0)
                text = " ".join(output.read().decode(errors="replace").split())
                raise RuntimeError(f"Ray did not start: {error} {text[-600:]}") from None
        if kind != "up":
            raise _error(kind, *what)
        self.workers, memory = what
        self.memory = self._cluster.started(memory)

    def _await(self, driver: Child) -> None:
        """Wait for the first message; processes of Ray may die or be stopped before it."""
        longest = LONGEST_START if self._cluster.address is None else LONGEST_JOIN
        end = time.monotonic() + longest
        while not driver.channel.poll(1.0):
            self._cluster.look()
            if time.monotonic() > end or not self._cluster.alive():
                raise TimeoutError(f"it died, or took longer than {longest:g} s")

    def _stop(self) -> None:
        while self._drivers:
            self._drivers.pop().end(self._cluster.patience)
        self._cluster.stop()

    def _recover(self) -> None:
        for number, worker in self._begun.items():
            del self._tasks[number]
            self._done.append(Done(number, worker, None, "the Ray cluster died"))
        self._begun = {}
        self._stop()
        self._start()
        for number in self._tasks:
            self._send(number)

    def _send(self, number: int) -> None:
        with contextlib.suppress(OSError):  # the driver is gone: the next one gets it again
            self._drivers[0].channel.send((number, *self._tasks[number]))

    def _hear(self, timeout: float) -> None:
        """Take the messages of the driver; wait up to `timeout` seconds for the first."""
        channel = self._drivers[0].channel
        while True:
            try:
                if not channel.poll(timeout):
                    return
                message = channel.recv()
            except (EOFError, OSError):
                self._recover()
                return
            self._take(*message)
            timeout = 0.0

    def _take(self, kind: str, *what: Any) -> None:
        if kind == "begun":
            number, worker = what
            self._begun[number] = worker
        elif kind == "done":
            number, worker, result, lost, timed_out = what
            del self._tasks[number]
            self._begun.pop(number, None)
            read = None if result is None else pickle.loads(result)
            self._done.append(Done(number, worker, read, lost, timed_out))
        else:
            raise _error(kind, *what)


class _Task(NamedTuple):
    job: bytes
    seconds: float | None


def _error(kind: str, sentence: str) -> Exception:
    return ProblemError(sentence) if kind == "refused" else RuntimeError(sentence)


class _LocalCluster:
    """A private cluster on this machine."""

    address = None

    def __init__(self, workers: int | None) -> None:
        self.workers = workers or available_cores()
        self._folder: Path | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._vital: set[int] = set()
        self._stopped: dict[int, Stop] = {}
        self._next_look = 0.0
        # Killed at once, where its processes can be found.
        self.patience = 0.0 if Path("/proc").exists() else 2 * PATIENCE

    def prepare(self) -> tuple[list[str], dict[str, str | None]]:
        self._folder = Path(tempfile.mkdtemp(prefix="recallscope-ray-"))  # of mode 0700
        token = self._folder / "token"
        with os.fdopen(os.open(token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
        self._guard = start_guard(self._folder)
        return [str(self._folder)], {
            **QUIET,
            **LOOPBACK_ONLY,
            "OMP_NUM_THREADS": "1",
            "RAY_worker_niceness": "0",  # as nice as we are; Ray would make its workers nice by 15
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": None,  # it would win over the file
            "RAY_AUTH_TOKEN_PATH": str(token),
            "RAY_TMPDIR": str(self._folder),  # Ray opens a folder in it to everybody
        }

    def look(self) -> None:
        """Find the raylet and the control server."""
        for pid, command in cluster_processes(str(self._folder)).items():
            if command.split("\0")[0].endswith(("/raylet", "/gcs_server")):
                self._vital.add(pid)

    def started(self, memory: float) -> float:
        self.look()
        return memory_left() - CLUSTER_MEMORY

    def alive(self) -> bool:
        """Whether the raylet and the control server run; without /proc, errors of Ray show it."""
        if time.monotonic() > self._next_look:
            self._kill_stopped()
            self._next_look = time.monotonic() + 5 * TICK
        return all(process_state(pid) not in (None, "Z", "X") for pid in self._vital)

    def _kill_stopped(self) -> None:
        """Kill stopped processes of the cluster. Ray waits for these, but restarts dead ones."""
        stopped = [pid for pid in all_processes() if process_state(pid) == "T"]
        ours = cluster_processes(str(self._folder)) if stopped else {}
        self._stopped = {pid: self._stopped.get(pid, Stop()) for pid in stopped if pid in ours}
        for pid, stop in self._stopped.items():
            stop.note(True)
            if stop.too_long:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        if self._folder is None:
            return
        clear_up(str(self._folder), {self._guard.pid} if self._guard is not None else set())
        if self._guard is not None:
            self._guard.kill()
            self._guard.wait()
        self._folder, self._guard = None, None
        self._vital, self._stopped = set(), {}


class _JoinedCluster:
    """A cluster that others run; it may have no free CPU for a long time."""

    patience = PATIENCE

    def __init__(self, workers: int | None, address: str) -> None:
        self.workers, self.address = workers, address

    def prepare(self) -> tuple[list[str], dict[str, str | None]]:
        if "://" in self.address:
            raise ProblemError(f"give the Ray cluster as host:port or auto, not {self.address}")
        return [], {
            **QUIET,
            **(LOOPBACK_ONLY if self.address != "auto" and self._probe() else {}),
            "RAY_AUTH_MODE": _auth_mode(),
            "RAY_NUM_REDIS_GET_RETRIES": "2",  # with a second between; Ray would try 20 times
            _SEARCH: os.environ.get(_SEARCH, str(LONGEST_SEARCH)),
        }

    def _probe(self) -> bool:
        """Whether the cluster is on loopback only; an error if there is none.

        Ray replaces 127.0.0.1 by the outer address of this machine, unless configured otherwise.
        """
        host, _, port = self.address.rpartition(":")
        host = host.strip("[]")
        if host in ("127.0.0.1", "localhost", "::1"):
            if _answers(_outer_address(), port):
                return False
            if _answers(host, port):
                return True
        elif _answers(host, port):
            return False
        raise ProblemError(
            f"there is no Ray cluster at {self.address}; give the host:port of one that runs"
        )

    def look(self) -> None:
        pass

    def started(self, memory: float) -> float:
        return memory

    def alive(self) -> bool:
        return True

    def stop(self) -> None:
        pass


QUIET: dict[str, str | None] = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # it would send the working folder to the workers
}
# The only way to make Ray on Linux listen on loopback alone; elsewhere it is the default.
LOOPBACK_ONLY: dict[str, str | None] = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


def _answers(host: str | None, port: str) -> bool:
    with contextlib.suppress(OSError, ValueError, OverflowError):
        if host is not None:
            socket.create_connection((host, int(port)), PATIENCE).close()
            return True
    return False


def _outer_address() -> str | None:
    """The address by which this machine would speak with others; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        try:
            line.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return str(line.getsockname()[0])


def _auth_mode() -> str | None:
    """The choice of the user; else by token if there is one."""
    path = os.environ.get("RAY_AUTH_TOKEN_PATH")
    if path and not os.environ.get("RAY_AUTH_TOKEN") and not os.access(path, os.R_OK):
        # Ray would abort the process.
        raise ProblemError(f"RAY_AUTH_TOKEN_PATH is {path}, which cannot be read")
    default = Path.home() / ".ray" / "auth_token"
    there = os.environ.get("RAY_AUTH_TOKEN") or path or default.exists()
    return os.environ.get("RAY_AUTH_MODE", "token" if there else None)
