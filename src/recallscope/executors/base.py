"""The interface of executors and their jobs."""

from __future__ import annotations

import itertools
import pickle
from typing import Any, NamedTuple, Protocol

from recallscope.problem import ProblemError

numbers = itertools.count()
"""Numbers for tasks, unique in this process. Results of interrupted work may still come back from a
running executor, and must not be mistaken for others."""


class Job(Protocol):
    """Something to do that can be sent to another process."""

    def run(self) -> Any:
        """Do it."""


class Mistake(NamedTuple):
    """A mistake of the user, found by the work: a sentence to raise as `ProblemError`."""

    sentence: str


class Done(NamedTuple):
    """A task that has ended, or lost its worker."""

    number: int
    worker: str
    result: Any
    lost: str | None = None
    """Why there is no result: how the worker ended, or the error that the work raised."""
    timed_out: bool = False
    """Whether the worker was killed because the task exceeded its time limit."""

    def value(self) -> Any:
        """The result; a mistake of the user is raised, as another try would repeat it."""
        if isinstance(self.result, Mistake):
            raise ProblemError(self.result.sentence)
        return self.result


def packed_job(job: Job) -> bytes:
    """A pickled job; a job that cannot be pickled is a mistake of the user."""
    try:
        return pickle.dumps(job)
    except Exception as error:
        raise ProblemError(
            f"the work cannot be sent to a worker: {type(error).__name__}: {error}; leave what "
            "belongs to this process alone, such as locks and open files, out of it"
        ) from error


class PackedJob:
    """A pickled job, unpacked when it is run."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def run(self) -> Any:
        """Do it; a missing module is a mistake of the user, as every worker would lack it."""
        try:
            job: Job = pickle.loads(self._content)
        except (ImportError, AttributeError) as error:
            raise ProblemError(
                f"the work cannot be loaded in a worker: {type(error).__name__}: {error}; is its "
                "module installed there?"
            ) from error
        return job.run()


def attempt(job: Job) -> tuple[Any, str | None]:
    """The result of a job, or None and its error."""
    try:
        return job.run(), None
    except ProblemError as error:
        return Mistake(str(error)), None
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


class Executor(Protocol):
    """Workers that take numbered tasks and return results in any order."""

    workers: int
    memory: float
    """Bytes that all workers share."""

    def submit(self, number: int, job: Job, seconds: float | None = None) -> None:
        """Take a task; returns at once.

        With `seconds`, the worker is killed soon after it has worked on the task for that long. The
        task then comes back as timed out.
        """

    def finished(self, timeout: float) -> list[Done]:
        """Wait for at least one task to finish, but no longer than `timeout` seconds."""

    def close(self) -> None:
        """Stop everything at once, and drop the tasks under way."""
