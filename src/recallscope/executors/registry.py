"""Executors by their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from recallscope.executors.base import Executor
from recallscope.executors.processes import Processes
from recallscope.executors.serial import Serial
from recallscope.problem import ProblemError, choice, whole_number

EXECUTORS = ("serial", "processes", "ray")


@contextmanager
def running(
    executor: str | Executor,
    workers: int | None = None,
    address: str | None = None,
    preload: Sequence[str] = (),
) -> Iterator[Executor]:
    """An executor by its name, closed at the end; an executor of the caller is left open.

    `preload` names modules that its workers import before their first job.

    >>> with running("serial") as executor:
    ...     executor.workers
    1
    """
    if not isinstance(executor, str):
        yield executor
        return
    started = _start(executor, workers, address, preload)
    try:
        yield started
    finally:
        started.close()


def check_executor(name: str, workers: int | None = None, address: str | None = None) -> None:
    """Raise unless there is such an executor with such options."""
    choice("executor", name, EXECUTORS)
    if address is not None and name != "ray":
        raise ProblemError(f"an address is for the executor ray, not for {name}")
    if workers is not None:
        whole_number("workers", workers, 1, 10**5)
    if name == "serial" and workers not in (None, 1):
        raise ProblemError("the serial executor has one worker; choose processes or ray for more")


def _start(name: str, workers: int | None, address: str | None, preload: Sequence[str]) -> Executor:
    check_executor(name, workers, address)
    if name == "serial":
        return Serial(preload)
    if name == "processes":
        return Processes(workers, preload)
    from recallscope.executors.ray import RayExecutor

    return RayExecutor(workers, address, preload)
