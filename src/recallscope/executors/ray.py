"""Tasks on Ray: a private local cluster, or a cluster that runs already.

Each CPU gets one long-lived actor, and it is given the next task when it is done with the last.
A local cluster is shut off from others: it listens on loopback only, wants a token that only this
user can read, has no dashboard and sends no usage statistics.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recallscope.common.interrupts import held_back
from recallscope.common.machine import available_cores, machine_memory
from recallscope.executors.base import Done, Job, attempt
from recallscope.executors.process_worker import load
from recallscope.executors.ray_guard import kill_cluster, start_guard
from recallscope.executors.ray_starter import RayStarter
from recallscope.problem import ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    lost; so do all tasks in flight when the own cluster dies, which is then started again.
    """

    workers: int
    memory: float

    def __init__(
        self, workers: int | None = None, address: str | None = None, preload: Sequence[str] = ()
    ) -> None:
        self._wanted = workers
        self._preload = tuple(preload)
        self._workers: list[_Worker] = []
        self._waiting: deque[_Task] = deque()
        self._done: list[Done] = []
        self._brief = False
        self._failed_starts = 0  # workers in a row that did not live to say hello
        self._cluster: _LocalCluster | _JoinedCluster = (
            _LocalCluster(workers) if address is None else _JoinedCluster(address)
        )
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

    def submit(self, number: int, job: Job) -> None:
        """Hand in a task; return at once."""
        self._waiting.append(_Task(number, job))
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
            idle = not self._waiting and not any(worker.tasks for worker in self._workers)
            if self._done or idle or time.monotonic() >= deadline:
                done, self._done = self._done, []
                return done

    def close(self) -> None:
        """End the own cluster, or leave the joined one, at once and whatever still runs."""
        self._workers = []
        self._waiting.clear()
        self._cluster.stop()

    def _start(self) -> None:
        cpus, self.memory = self._started()
        self.workers = cpus if self._wanted is None else min(self._wanted, cpus)
        self._workers = [_Worker(self._preload) for _ in range(self.workers)]
        # If one worker is late, then the first tasks would all go to the others.
        deadline = time.monotonic() + self._cluster.warm_up
        while self._cluster.alive() and time.monotonic() < deadline:
            if all(worker.ready for worker in self._workers):
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
        for worker in self._workers:
            for task in worker.tasks.values():
                self._done.append(Done(task.number, worker.name, None, "the Ray cluster died"))
        self._workers = []
        self._cluster.stop()
        self._start()

    def _deal(self) -> None:
        """Give waiting tasks to the workers that have the least to do."""
        for most in range(2 if self._brief else 1):
            for worker in self._workers:
                if self._waiting and worker.ready and len(worker.tasks) <= most:
                    worker.give(self._waiting.popleft())

    def _collect(self, timeout: float) -> None:
        import ray

        refs = [ref for worker in self._workers for ref in worker.refs()]
        if not ray.wait(refs, timeout=timeout)[0]:
            return
        ready = set(ray.wait(refs, num_returns=len(refs), timeout=0)[0])
        for place, worker in enumerate(self._workers):
            try:
                for ref in [ref for ref in worker.refs() if ref in ready]:
                    self._take(worker, ref)
            except _LostError as lost:
                # Only the first can have been at work; the others were not begun.
                self._failed_starts += not worker.ready
                if self._failed_starts > 3 * self.workers:
                    raise RuntimeError(f"no Ray worker comes up: {lost}") from lost
                tasks = list(worker.tasks.values())
                self._done += [
                    Done(task.number, worker.name, None, str(lost)) for task in tasks[:1]
                ]
                self._waiting.extendleft(reversed(tasks[1:]))
                self._workers[place] = _Worker(self._preload)

    def _take(self, worker: _Worker, ref: Any) -> None:
        """Take in what a worker has sent: its name, or the result of its next task."""
        import ray
        from ray.exceptions import RayError

        try:
            answer = ray.get(ref, timeout=10 * PATIENCE)
        except RayError as error:
            worker.leave()
            reason = " ".join(str(error).split())[:300]
            raise _LostError(f"{type(error).__name__}: {reason}") from None
        if ref in worker.tasks:
            result, lost, seconds = answer
            self._brief = seconds < BRIEF
            self._done.append(Done(worker.tasks.pop(ref).number, worker.name, result, lost))
        else:
            worker.name, worker.ready, self._failed_starts = answer, True, 0


class _Task(NamedTuple):
    number: int
    job: Job


class _LostError(Exception):
    """A worker is gone."""


class _WorkerActor:
    """What runs in a worker."""

    def __init__(self, preload: Sequence[str]) -> None:
        os.environ["OMP_NUM_THREADS"] = "1"
        load(preload)

    def name(self) -> str:
        return f"{socket.gethostname()}:{os.getpid()}"

    def run(self, job: Job) -> tuple[Any, str | None, float]:
        start = time.monotonic()
        return *attempt(job), time.monotonic() - start


class _Worker:
    """A worker, seen from here: an actor on a CPU of its own, and its tasks in their order."""

    def __init__(self, preload: Sequence[str]) -> None:
        import ray

        actor = ray.remote(
            num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD"
        )(_WorkerActor)
        self._actor: Any = actor.remote(preload)
        # On a busy cluster an actor may wait long for its CPU; it gets no task before it is up.
        self._hello = self._actor.name.remote()
        self.name = "nobody"
        self.ready = False
        self.tasks: dict[Any, _Task] = {}

    def give(self, task: _Task) -> None:
        self.tasks[self._actor.run.remote(task.job)] = task

    def refs(self) -> list[Any]:
        return list(self.tasks) if self.ready else [self._hello]

    def leave(self) -> None:
        import ray

        ray.kill(self._actor)


class _LocalCluster:
    """A cluster of our own on this machine."""

    warm_up = 30.0

    def __init__(self, workers: int | None) -> None:
        self._cpus = workers or available_cores()
        self._folder: Path | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._vital: list[subprocess.Popen[bytes]] = []
        self._starter: RayStarter | None = None

    def start(self) -> tuple[int, float]:
        self._folder = Path(tempfile.mkdtemp(prefix="recallscope-ray-"))  # of mode 0700
        token = self._folder / "token"
        with os.fdopen(os.open(token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
        self._guard = start_guard(self._folder)
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
            # sooner, and start the cluster again.
            "RAY_gcs_rpc_server_reconnect_timeout_s": "1000000",
        }
        with _environment(settings), _signals_kept():
            import ray
            from ray._private import worker as ray_worker

            _read_settings(loopback=True)
            self._starter = RayStarter(
                ray.init,
                address="local",
                num_cpus=self._cpus,
                num_gpus=0,
                object_store_memory=2**28,
                include_dashboard=False,
                logging_level="ERROR",
                log_to_driver=False,
                _temp_dir=str(self._folder / "ray"),  # Ray opens this folder to everybody
            )
            self._starter.wait()
            ray_worker._worker_logs_enabled = False  # no messages of dead workers on our terminal
            node = ray_worker._global_node
            self._vital = [node.all_processes[kind][0].process for kind in ("raylet", "gcs_server")]
            if node.node_ip_address != "127.0.0.1":
                raise RuntimeError(f"Ray listens on {node.node_ip_address}, not on loopback only")
        return self._cpus, machine_memory()

    def alive(self) -> bool:
        return all(process.poll() is None for process in self._vital)

    def stop(self) -> None:
        if self._folder is None:
            return
        from ray._private import worker as ray_worker

        folder, node = str(self._folder), ray_worker._global_node
        guard = {self._guard.pid} if self._guard is not None else set()
        gcs = (
            {info.process.pid for info in node.all_processes.get("gcs_server", [])}
            if node
            else set()
        )
        try:
            # Ray leaves at once if only its control server is still there, and else takes seconds.
            started = self._starter is None or self._starter.done
            kill_cluster(folder, guard | gcs)
            _leave_ray(started)
        finally:
            kill_cluster(folder, guard)
            shutil.rmtree(folder, ignore_errors=True)
            if self._guard is not None:
                self._guard.kill()
                self._guard.wait()
        if self._starter is not None:
            self._starter.let_go()
        self._folder, self._guard, self._vital = None, None, []


class _JoinedCluster:
    """A cluster that others run, and may have no CPU for us for long."""

    warm_up = 0.0

    def __init__(self, address: str) -> None:
        self._address = address
        self._starter: RayStarter | None = None

    def start(self) -> tuple[int, float]:
        if "://" in self._address:
            raise ProblemError(f"give the Ray cluster as host:port or auto, not {self._address}")
        with _environment({"RAY_AUTH_MODE": _auth_mode(), **QUIET}), _signals_kept():
            import ray
            from ray._private import worker as ray_worker

            address, loopback = self._knock()
            _read_settings(loopback)
            self._starter = RayStarter(
                ray.init, address=address, logging_level="ERROR", log_to_driver=False
            )
            self._starter.wait()
            ray_worker._worker_logs_enabled = False
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
        _leave_ray(self._starter is None or self._starter.done)
        if self._starter is not None:
            self._starter.let_go()


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


def _leave_ray(started: bool) -> None:
    import ray

    if not started:
        # Interrupted as it starts. Ray cannot be left now, nor does it let the interpreter end.
        atexit.register(os._exit, 130)
        return
    with held_back():
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
    """Keep Ray from handling SIGTERM itself."""
    from ray._private import utils

    rays_own = utils.set_sigterm_handler
    utils.set_sigterm_handler = lambda handler: None
    try:
        yield
    finally:
        utils.set_sigterm_handler = rays_own
