"""Tasks on Ray: a private local cluster, or a cluster that runs already.

Each CPU gets one long-lived actor, and it is given the next task when it is done with the last.
A local cluster is shut off from others: it listens on loopback only, wants a token that only this
user can read, has no dashboard and sends no usage statistics.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recallscope.machine import machine_memory
from recallscope.problem import ProblemError
from recallscope.sweeps.executor import Done, Work, attempt
from recallscope.sweeps.processes import available_cores

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TICK = 0.1  # seconds between looks at the cluster's health; Ctrl-C is seen this soon
BRIEF = 0.5  # seconds; a worker of tasks shorter than this is given the next one in advance
STARTS = 3  # tries to start a cluster
PATIENCE = 3.0  # seconds that a cluster may take to answer a first knock

NO_TOKEN = (
    "the Ray cluster at {address} wants a token that is not there or not right; "
    "set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
)


class RayExecutor:
    """Runs tasks on Ray, one at a time on each CPU.

    Without an address it starts a cluster of its own on this machine and ends it in `close`.
    With one it joins that cluster and leaves it running. A task whose worker died comes back as
    lost; so do all tasks in flight when the own cluster dies, which is then started anew.
    """

    workers: int
    memory: float

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        self._wanted = workers
        self._seats: list[_Seat] = []
        self._waiting: deque[_Task] = deque()
        self._done: list[Done] = []
        self._brief = False
        self._stillborn = 0  # workers in a row that did not live to say hello
        self._cluster: _Own | _Joined = _Own(workers) if address is None else _Joined(address)
        with _environment(QUIET):
            # A Ctrl-C in here must find nothing that needs Ray to end it.
            try:
                import ray
            except ImportError:
                raise ProblemError(
                    "the executor ray needs Ray: pip install 'recallscope[sweep]'"
                ) from None
        if ray.is_initialized():
            raise ProblemError(
                "Ray runs in this process already; shut it down, or give its address"
            )
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def submit(self, number: int, work: Work) -> None:
        """Hand in a task; return at once."""
        self._waiting.append(_Task(number, work))
        if self._cluster.alive():
            self._deal()

    def finished(self, timeout: float) -> list[Done]:
        """Tasks that are finished or lost: wait for the first, but not longer than the timeout."""
        deadline = time.monotonic() + timeout
        while True:
            if not self._cluster.alive():
                self._recover()
            self._deal()
            self._collect(min(TICK, max(0.0, deadline - time.monotonic())))
            idle = not self._waiting and not any(seat.tasks for seat in self._seats)
            if self._done or idle or time.monotonic() >= deadline:
                done, self._done = self._done, []
                return done

    def close(self) -> None:
        """End the own cluster, or leave the joined one, at once and whatever still runs."""
        self._seats = []
        self._waiting.clear()
        self._cluster.stop()

    def _start(self) -> None:
        cpus, self.memory = self._started()
        self.workers = cpus if self._wanted is None else min(self._wanted, cpus)
        self._seats = [_Seat() for _ in range(self.workers)]
        # If one worker is late, then the first tasks would all go to the others.
        deadline = time.monotonic() + self._cluster.warm_up
        while self._cluster.alive() and time.monotonic() < deadline:
            if all(seat.ready for seat in self._seats):
                break
            self._collect(TICK)

    def _started(self) -> tuple[int, float]:
        """Start or join the cluster; what kills a raylet may kill the next one as it starts."""
        for left in reversed(range(STARTS)):
            try:
                return self._cluster.start()
            except ProblemError:
                raise
            except Exception:
                self._cluster.stop()
                if not left:
                    raise
        raise AssertionError

    def _recover(self) -> None:
        for seat in self._seats:
            for task in seat.tasks.values():
                self._done.append(Done(task.number, seat.name, None, "the Ray cluster died"))
        self._seats = []
        self._cluster.stop()
        self._start()

    def _deal(self) -> None:
        """Give waiting tasks to the workers that have the least to do."""
        for load in range(2 if self._brief else 1):
            for seat in self._seats:
                if self._waiting and seat.ready and len(seat.tasks) <= load:
                    seat.give(self._waiting.popleft())

    def _collect(self, timeout: float) -> None:
        import ray

        refs = [ref for seat in self._seats for ref in seat.refs()]
        if not ray.wait(refs, timeout=timeout)[0]:
            return
        ready = set(ray.wait(refs, num_returns=len(refs), timeout=0)[0])
        for place, seat in enumerate(self._seats):
            try:
                for ref in [ref for ref in seat.refs() if ref in ready]:
                    self._take(seat, ref)
            except _LostError as lost:
                # Only the first can have been at work; the others were not begun.
                self._stillborn += not seat.ready
                if self._stillborn > 3 * self.workers:
                    raise RuntimeError(f"no Ray worker comes up: {lost}") from lost
                tasks = list(seat.tasks.values())
                self._done += [Done(task.number, seat.name, None, str(lost)) for task in tasks[:1]]
                self._waiting.extendleft(reversed(tasks[1:]))
                self._seats[place] = _Seat()

    def _take(self, seat: _Seat, ref: Any) -> None:
        """Take in what a worker has sent: its name, or the result of its next task."""
        import ray
        from ray.exceptions import RayError

        try:
            answer = ray.get(ref, timeout=10 * PATIENCE)
        except RayError as error:
            seat.leave()
            reason = " ".join(str(error).split())[:300]
            raise _LostError(f"{type(error).__name__}: {reason}") from None
        if ref in seat.tasks:
            result, lost, seconds = answer
            self._brief = seconds < BRIEF
            self._done.append(Done(seat.tasks.pop(ref).number, seat.name, result, lost))
        else:
            seat.name, seat.ready, self._stillborn = answer, True, 0


class _Task(NamedTuple):
    number: int
    work: Work


class _LostError(Exception):
    """A worker is gone."""


class _Hand:
    """What runs in a worker."""

    def __init__(self) -> None:
        os.environ["OMP_NUM_THREADS"] = "1"
        import torch

        import recallscope.sweeps.sharded  # now, not in the first task
        import recallscope.sweeps.work  # noqa: F401

        torch.set_num_threads(1)

    def name(self) -> str:
        return f"{socket.gethostname()}:{os.getpid()}"

    def do(self, work: Work) -> tuple[Any, str | None, float]:
        start = time.monotonic()
        return *attempt(work), time.monotonic() - start


class _Seat:
    """A worker, seen from here: an actor on a CPU of its own, and its tasks in their order."""

    def __init__(self) -> None:
        import ray

        actor = ray.remote(
            num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD"
        )(_Hand)
        self._hand: Any = actor.remote()
        # On a busy cluster an actor may wait long for its CPU; it gets no task before it is up.
        self._hello = self._hand.name.remote()
        self.name = "nobody"
        self.ready = False
        self.tasks: dict[Any, _Task] = {}

    def give(self, task: _Task) -> None:
        self.tasks[self._hand.do.remote(task.work)] = task

    def refs(self) -> list[Any]:
        return list(self.tasks) if self.ready else [self._hello]

    def leave(self) -> None:
        import ray

        ray.kill(self._hand)


class _Own:
    """A cluster of our own on this machine."""

    warm_up = 30.0

    def __init__(self, workers: int | None) -> None:
        self._cpus = workers or available_cores()
        self._folder: Path | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._vital: list[subprocess.Popen[bytes]] = []

    def start(self) -> tuple[int, float]:
        self._folder = Path(tempfile.mkdtemp(prefix="recallscope-ray-"))  # of mode 0700
        token = self._folder / "token"
        with os.fdopen(os.open(token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
        self._guard = _start_guard(self._folder)
        settings: dict[str, str | None] = {
            **QUIET,
            # The only way to have Ray on Linux listen on loopback alone; it is the rule elsewhere.
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "OMP_NUM_THREADS": "1",
            "RAY_worker_niceness": "0",  # as nice as we are; Ray would make its workers nice by 15
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": None,  # it would win over the file
            "RAY_AUTH_TOKEN_PATH": str(token),
            # Ray would end this process a minute after its control server died. We see that
            # sooner, and start the cluster anew.
            "RAY_gcs_rpc_server_reconnect_timeout_s": "1000000",
        }
        with _environment(settings), _signals_kept():
            import ray
            from ray._private import worker

            _read_settings(loopback=True)
            ray.init(
                address="local",
                num_cpus=self._cpus,
                num_gpus=0,
                object_store_memory=2**28,
                include_dashboard=False,
                logging_level="ERROR",
                log_to_driver=False,
                _temp_dir=str(self._folder / "ray"),  # Ray opens this folder to everybody
            )
            worker._worker_logs_enabled = False  # no messages of dead workers on our terminal
            node = worker._global_node
            self._vital = [node.all_processes[kind][0].process for kind in ("raylet", "gcs_server")]
            if node.node_ip_address != "127.0.0.1":
                raise RuntimeError(f"Ray listens on {node.node_ip_address}, not on loopback only")
        return self._cpus, machine_memory()

    def alive(self) -> bool:
        return all(process.poll() is None for process in self._vital)

    def stop(self) -> None:
        if self._folder is None:
            return
        from ray._private import worker

        folder, node = str(self._folder), worker._global_node
        guard = {self._guard.pid} if self._guard is not None else set()
        gcs = (
            {info.process.pid for info in node.all_processes.get("gcs_server", [])}
            if node
            else set()
        )
        try:
            # Ray leaves at once if only its control server is still there, and else takes seconds.
            _kill_all(folder, guard | gcs)
            _leave_ray()
        finally:
            _kill_all(folder, guard)
            shutil.rmtree(folder, ignore_errors=True)
            if self._guard is not None:
                self._guard.kill()
                self._guard.wait()
        self._folder, self._guard, self._vital = None, None, []


class _Joined:
    """A cluster that others run, and may have no CPU for us for long."""

    warm_up = 0.0

    def __init__(self, address: str) -> None:
        self._address = address

    def start(self) -> tuple[int, float]:
        if "://" in self._address:
            raise ProblemError(f"give the Ray cluster as host:port or auto, not {self._address}")
        with _environment({"RAY_AUTH_MODE": _auth_mode(), **QUIET}), _signals_kept():
            import ray
            from ray._private import worker

            address, loopback = self._knock()
            _read_settings(loopback)
            ray.init(address=address, logging_level="ERROR", log_to_driver=False)
            worker._worker_logs_enabled = False
        found = ray.cluster_resources()
        if found.get("CPU", 0) < 1:
            raise ProblemError(f"the Ray cluster at {self._address} has no CPU")
        return int(found["CPU"]), float(found.get("memory", math.inf))

    def _knock(self) -> tuple[str, bool]:
        """The address to use and if it is on loopback only; an error if it is not for us.

        Ray itself tries for 20 seconds and then tells of a failed connection only.
        """
        import ray
        from ray._private import services
        from ray.exceptions import AuthenticationError, RayError

        _read_settings(loopback=False)
        try:
            found = services.canonicalize_bootstrap_address_or_die(self._address)
        except ConnectionError as error:
            raise ProblemError(f"there is no Ray cluster at {self._address}") from error
        # Ray takes 127.0.0.1 for the outer address of this machine.
        for address in dict.fromkeys([found, self._address]):
            host, _, port = address.rpartition(":")
            with contextlib.suppress(OSError, ValueError):
                socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
                break
        else:
            raise ProblemError(f"there is no Ray cluster at {self._address}")
        try:
            ray._raylet.GcsClient(address=address)
        except AuthenticationError as error:
            raise ProblemError(NO_TOKEN.format(address=self._address)) from error
        except RayError as error:
            raise ProblemError(f"there is no Ray cluster at {self._address}") from error
        return address, address != found

    def alive(self) -> bool:
        return True

    def stop(self) -> None:
        _leave_ray()


QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # it would send the working folder to the workers
}


def _read_settings(loopback: bool) -> None:
    """Have Ray read its environment again: it does so only once, when it is imported."""
    import ray
    from ray._private import ray_constants

    ray._raylet.Config.initialize("")
    ray._raylet.AuthenticationTokenLoader.instance().reset_cache()
    ray_constants.ENABLE_RAY_CLUSTER = not loopback


def _leave_ray() -> None:
    import ray

    with _signals_kept():
        ray.shutdown()
    _read_settings(loopback=False)


def _auth_mode() -> str | None:
    """The user's own choice; else by token if there is one."""
    path = os.environ.get("RAY_AUTH_TOKEN_PATH")
    if path and not os.environ.get("RAY_AUTH_TOKEN") and not os.access(path, os.R_OK):
        # Ray would abort the process.
        raise ProblemError(f"RAY_AUTH_TOKEN_PATH is {path}, which cannot be read")
    default = Path.home() / ".ray" / "auth_token"
    there = os.environ.get("RAY_AUTH_TOKEN") or path or default.exists()
    return os.environ.get("RAY_AUTH_MODE", "token" if there else None)


@contextlib.contextmanager
def _environment(settings: Mapping[str, str | None]) -> Iterator[None]:
    """Set, or for None unset, environment variables for a while."""
    before = {name: os.environ.get(name) for name in settings}

    def put(values: Mapping[str, str | None]) -> None:
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    put(settings)
    try:
        yield
    finally:
        put(before)


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    """Keep what SIGTERM does, for Ray puts its own handler in; and hold back Ctrl-C for a moment.

    Ray crashes if it is interrupted while it connects to its node, which takes less than a second.
    """
    from ray._private import worker

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    terminate, interrupt = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    late = False

    def interrupted(*_: object) -> None:
        nonlocal late
        if worker._global_node is None:
            raise KeyboardInterrupt
        late = True

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, terminate)
        signal.signal(signal.SIGINT, interrupt)
        if late:
            raise KeyboardInterrupt


def _kill_all(folder: str, spared: set[int]) -> None:
    """Kill the processes of the cluster in this folder, and wait for a second until all are gone.

    They are known by their command or, as Ray may change it, by their open files.
    """
    spared = spared | {os.getpid()}
    for _ in range(50):
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                files = [str(file.readlink()) for file in (process / "fd").iterdir()]
                command = (process / "cmdline").read_text(errors="replace")
            except OSError:
                continue  # gone, or not ours
            # A process forked by this one has files of the driver, but is none of Ray's.
            ours = any(file.startswith(folder + "/") and "driver" not in file for file in files)
            if (ours or folder in command) and int(process.name) not in spared:
                found.append(int(process.name))
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        if not found:
            return
        time.sleep(0.02)


def _watch(parent: int, folder: str) -> None:
    """Wait for the end of the process that started this one; then clear up for it."""
    while os.getppid() == parent:
        time.sleep(0.2)
    _kill_all(folder, set())
    shutil.rmtree(folder, ignore_errors=True)


def _start_guard(folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that ends the cluster if we are killed: Ray would leave some of it."""
    program = "\n".join(
        [
            "import contextlib, os, shutil, time",
            "from pathlib import Path",
            inspect.getsource(_kill_all),
            inspect.getsource(_watch),
            f"_watch({os.getpid()}, {str(folder)!r})",
        ]
    )
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # out of reach of Ctrl-C
    )
