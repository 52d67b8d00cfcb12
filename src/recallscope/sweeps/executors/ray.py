"""Tasks of Ray: on the user's cluster, or on a private one on this machine.

A private cluster is isolated from others: it listens on loopback only, wants a token that only this
user can read, has no dashboard and sends no usage statistics. If this process is killed, two of
Ray's agents end themselves within a minute.

This is the only file that imports Ray.
"""

from __future__ import annotations

import importlib.util
import math
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from recallscope.common.errors import ProblemError
from recallscope.common.extras import missing
from recallscope.common.machine import available_cores, memory_left
from recallscope.sweeps.executors.job import ExecutorError, LostWorkerError, in_words
from recallscope.sweeps.executors.processes import Processes

CLUSTER_MEMORY = 500 * 2**20  # bytes of Ray's own processes
_LONGEST_PROBE = 3.0  # seconds in which an address must answer
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # it would send the working folder to the workers
}
_SEARCH = {
    "RAY_gcs_server_request_timeout_seconds": "5",  # for its node on this host; Ray would take 60
    "RAY_NUM_REDIS_GET_RETRIES": "2",  # with a second between; Ray would try 20 times
}
# The only way to make Ray on Linux listen on loopback alone; elsewhere it does so.
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


class RayExecutor(Executor):
    """Calls as Ray tasks, one on each CPU.

    Args:
        workers: how many at most; one for each CPU if None.
        address: of a cluster that runs; None for `RAY_ADDRESS`, or the cluster that this process
            has joined already, or else for a private one, which ends with this executor.
        time_limit: seconds that a task may take. It then runs in a child of Ray's worker, which
            can be killed.
    """

    def __init__(
        self,
        workers: int | None = None,
        address: str | None = None,
        *,
        time_limit: float | None = None,
    ) -> None:
        if importlib.util.find_spec("ray") is None:
            raise ProblemError(missing("ray"))
        address = address or os.environ.get("RAY_ADDRESS")
        self._time_limit = time_limit
        self._folder: Path | None = None
        self._joined_before = "ray" in sys.modules and sys.modules["ray"].is_initialized()
        if self._joined_before:
            if address is not None:
                raise ProblemError(
                    "this process has joined a Ray cluster already; leave the address out to use "
                    "it, or call ray.shutdown() first"
                )
        elif address is not None:
            _join(address)
        else:
            self._start_private(workers or available_cores())
        import ray

        cluster = ray.cluster_resources()
        cpus = int(cluster.get("CPU", 0))
        if cpus < 1:
            self.shutdown()
            raise ProblemError(f"the Ray cluster at {address} has no CPU")
        self.workers = min(workers or cpus, cpus)
        self.memory = float(cluster.get("memory", math.inf))
        if self._folder is not None:
            self.memory = memory_left() - CLUSTER_MEMORY
        # Lost tasks are tried again by the sweep, which halves them to find the cell to blame.
        self._task = ray.remote(num_cpus=1, max_retries=0, scheduling_strategy="SPREAD")(_call)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Take a call."""
        future: Future[Any] = Future()
        task = self._task.remote(self._time_limit, function, args, kwargs)
        task.future().add_done_callback(partial(_pass_on, future))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the private cluster, or leave the joined one, at once, even if tasks still run."""
        if not self._joined_before and "ray" in sys.modules:
            sys.modules["ray"].shutdown()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _start_private(self, workers: int) -> None:
        if "ray" in sys.modules and not _token.cache_info().currsize:
            raise ProblemError(
                "Ray was imported before recallscope could make it listen on this machine alone, "
                "with a token; run this in a new process, or call ray.init() yourself first"
            )
        self._folder = Path(tempfile.mkdtemp(prefix="recallscope-ray-"))  # of mode 0700
        token = self._folder / "token"
        with os.fdopen(os.open(token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(_token())
        settings = {
            **QUIET,
            **LOOPBACK,
            "RAY_worker_niceness": "0",  # as this process; Ray would make its workers nice by 15
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(token),
            "RAY_TMPDIR": str(self._folder),  # Ray opens a folder in it to everybody
            "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
        }
        try:
            with _environment(settings, without=["RAY_AUTH_TOKEN"]):  # it would win over the file
                import ray  # which reads the environment

                ray.init(
                    address="local",
                    num_cpus=workers,
                    num_gpus=0,
                    object_store_memory=2**28,
                    include_dashboard=False,
                    logging_level="ERROR",
                    log_to_driver=False,
                )
            addresses = {node["NodeManagerAddress"] for node in ray.nodes()}
            if addresses != {"127.0.0.1"}:
                raise RuntimeError(f"it listens on {', '.join(addresses)}, not on loopback only")
        except Exception as error:
            self.shutdown()
            raise ExecutorError(f"Ray did not start: {in_words(error)}") from error
        except BaseException:
            self.shutdown()
            raise


def _pass_on(future: Future[Any], done: Future[Any]) -> None:
    """Give a future what Ray answers; an error of the cluster is not one of the job."""
    from ray import exceptions

    if not future.set_running_or_notify_cancel():
        return
    error = done.exception()
    of_one_worker = (
        exceptions.WorkerCrashedError,
        exceptions.OutOfMemoryError,
        exceptions.NodeDiedError,
        exceptions.ObjectLostError,
    )
    if error is None:
        future.set_result(done.result())
    elif isinstance(error, of_one_worker):
        future.set_exception(LostWorkerError(in_words(error)))
    elif isinstance(error, exceptions.RayTaskError):  # raised by the call
        future.set_exception(error)
    else:
        future.set_exception(ExecutorError(f"the Ray cluster died: {in_words(error)}"))


def _call(
    limit: float | None,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Any:
    """Call a function in a worker of Ray; with a limit, in a child of it."""
    if limit is None:
        return function(*args, **kwargs)
    return _child(limit).submit(function, *args, **kwargs).result()


@cache
def _child(limit: float) -> Processes:
    """The child of this worker of Ray; it ends with the worker."""
    return Processes(1, time_limit=limit)


def _join(address: str) -> None:
    """Join a cluster; a mistake of the user if that is not possible."""
    if "://" in address:
        raise ProblemError(f"give the Ray cluster as host:port or auto, not {address}")
    settings = dict(QUIET)
    if address != "auto" and _on_loopback_only(address):
        settings |= LOOPBACK
    path = os.environ.get("RAY_AUTH_TOKEN_PATH")
    if path and not os.environ.get("RAY_AUTH_TOKEN") and not os.access(path, os.R_OK):
        # Ray would abort the process.
        raise ProblemError(f"RAY_AUTH_TOKEN_PATH is {path}, which cannot be read")
    default = Path.home() / ".ray" / "auth_token"
    if os.environ.get("RAY_AUTH_TOKEN") or path or default.exists():
        settings["RAY_AUTH_MODE"] = os.environ.get("RAY_AUTH_MODE", "token")
    notice = threading.Timer(
        2.0, print, [f"recallscope: joining the Ray cluster at {address} ..."], {"file": sys.stderr}
    )
    notice.daemon = True
    notice.start()
    try:
        with _environment({**_SEARCH, **os.environ, **settings}):
            import ray  # which reads the environment

            ray.init(address=address, logging_level="ERROR", log_to_driver=False)
    except Exception as error:
        raise ProblemError(_refusal(address, error)) from error
    finally:
        notice.cancel()


_NOT_THERE = "there is no Ray cluster at {address}; give the host:port of one that runs"


def _refusal(address: str, error: Exception) -> str:
    """Return what is wrong, and what to do; Ray has no error classes for most cases."""
    text = traceback.format_exc()  # with the errors that led to this one
    if "AuthenticationError" in text:
        return (
            f"the Ray cluster at {address} wants a token that is not there or not right; "
            "set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
        )
    if "No node info found" in text:
        return (
            f"the Ray cluster at {address} is there, but has no node on this host "
            f"({socket.gethostname()}), which is needed to join it; start one here by "
            f"`ray start --address={address}`, or run this command on a host that has one"
        )
    if isinstance(error, ConnectionError):
        return _NOT_THERE.format(address=address)
    what = f"the Ray cluster at {address} cannot be joined: {in_words(error)}"
    same = "; install the same versions here as there"
    return what + same if "Version mismatch" in what else what


def _on_loopback_only(address: str) -> bool:
    """Whether a cluster listens on loopback alone; an error if none does.

    Ray replaces 127.0.0.1 by the outer address of this machine, unless configured otherwise.
    """
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if host in ("127.0.0.1", "localhost", "::1"):
        if _answers(_outer_address(), port):
            return False
        if _answers(host, port):
            return True
    elif _answers(host, port):
        return False
    raise ProblemError(_NOT_THERE.format(address=address))


def _answers(host: str | None, port: str) -> bool:
    with suppress(OSError, ValueError, OverflowError):
        if host is not None:
            socket.create_connection((host, int(port)), _LONGEST_PROBE).close()
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


@cache
def _token() -> str:
    """The token of all private clusters of this process: Ray reads it but once."""
    return secrets.token_hex(32)


@contextmanager
def _environment(settings: Mapping[str, str], without: list[str] | None = None) -> Iterator[None]:
    """Within, other variables of the environment; afterwards also SIGTERM is handled as before."""
    before, handler = dict(os.environ), signal.getsignal(signal.SIGTERM)
    os.environ.update(settings)
    for name in without or []:
        os.environ.pop(name, None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)
