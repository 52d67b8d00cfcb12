"""Where work is done: one small interface, and the executor that needs nothing else."""

from __future__ import annotations

import itertools
import pickle
from typing import Any, NamedTuple, Protocol

from recallscope.problem import ProblemError

numbers = itertools.count()
"""Numbers for tasks, none given twice in this process: what is left of work that was broken off may
still come back from an executor that still runs, and must not be taken for another's."""


class Job(Protocol):
    """Something to do that can travel to another process."""

    def run(self) -> Any:
        """Do it."""


class Mistake(NamedTuple):
    """A mistake of the user's that the work has met: a sentence to be raised as `ProblemError`."""

    sentence: str


class Done(NamedTuple):
    """A task that came to its end, or whose worker did."""

    number: int
    worker: str
    result: Any
    lost: str | None = None
    """Why there is no result: how the worker ended, or the error that the work raised."""
    timed_out: bool = False
    """Whether the worker was ended because the task took longer than it might."""

    def value(self) -> Any:
        """The result; a mistake of the user's is raised, as it would be made again."""
        if isinstance(self.result, Mistake):
            raise ProblemError(self.result.sentence)
        return self.result


def packed_job(job: Job) -> bytes:
    """A job as it travels; what cannot travel is the mistake of whoever gave it."""
    try:
        return pickle.dumps(job)
    except Exception as error:
        raise ProblemError(
            f"the work cannot be sent to a worker: {type(error).__name__}: {error}; leave what "
            "belongs to this process alone, such as locks and open files, out of it"
        ) from error


class PackedJob:
    """A job that has travelled, and is unpacked in the midst of being run."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def run(self) -> Any:
        """Do it; what is missing here is a mistake too, and would be so in every worker."""
        try:
            job: Job = pickle.loads(self._content)
        except (ImportError, AttributeError) as error:
            raise ProblemError(
                f"the work cannot be loaded in a worker: {type(error).__name__}: {error}; is its "
                "module installed there?"
            ) from error
        return job.run()


def attempt(job: Job) -> tuple[Any, str | None]:
    """What the work returns, or None and the error that it raised."""
    try:
        return job.run(), None
    except ProblemError as error:
        return Mistake(str(error)), None
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


class Executor(Protocol):
    """Workers that are given numbered tasks and hand back their results in any order."""

    workers: int
    memory: float
    """Bytes that all workers share."""

    def submit(self, number: int, job: Job, seconds: float | None = None) -> None:
        """Take a task; returns at once.

        With `seconds`, its worker is killed soon after it has worked on the task for so long, and
        the task comes back as timed out.
        """

    def finished(self, timeout: float) -> list[Done]:
        """Wait for at least one task to finish, but no longer than so many seconds."""

    def close(self) -> None:
        """Stop everything at once; what is under way is dropped."""
