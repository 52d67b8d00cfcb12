"""Executors by their names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from recallscope.problem import ProblemError, whole_number
from recallscope.sweeps.executor import Executor, Serial
from recallscope.sweeps.processes import Processes

EXECUTORS = ("serial", "processes", "ray")


@contextmanager
def running(
    executor: str | Executor, workers: int | None = None, address: str | None = None
) -> Iterator[Executor]:
    """An executor by its name, closed at the end; one of the caller's own is left open.

    >>> with running("serial") as executor:
    ...     executor.workers
    1
    """
    if not isinstance(executor, str):
        yield executor
        return
    started = _start(executor, workers, address)
    try:
        yield started
    finally:
        started.close()


def check_executor(name: str, workers: int | None = None, address: str | None = None) -> None:
    """Raise unless there is such an executor, and what is asked of it makes sense."""
    if name not in EXECUTORS:
        raise ProblemError(f"the executor is one of {', '.join(EXECUTORS)}, not {name!r}")
    if address is not None and name != "ray":
        raise ProblemError(f"an address is for the executor ray, not for {name}")
    if workers is not None:
        whole_number("workers", workers, 1, 10**5)
    if name == "serial" and workers not in (None, 1):
        raise ProblemError("the serial executor has one worker; choose processes or ray for more")


def _start(name: str, workers: int | None, address: str | None) -> Executor:
    check_executor(name, workers, address)
    if name == "serial":
        return Serial()
    if name == "processes":
        return Processes(workers)
    from recallscope.sweeps.on_ray import RayExecutor

    return RayExecutor(workers, address)
