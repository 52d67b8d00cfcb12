"""A job as it travels to a worker, and the answer that comes back."""

from __future__ import annotations

import os
import pickle
import socket
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from recallscope.common.errors import ProblemError
from recallscope.sweeps.executors.same_code import difference, own_code


class Job(Protocol):
    """Something to do that can be sent to another process."""

    def run(self) -> Any:
        """Do it."""


class LostWorkerError(Exception):
    """The worker of a job ended before the job did."""


class LateError(Exception):
    """A job exceeded its time limit, and its worker was killed."""


class ExecutorError(ProblemError):
    """The executor cannot go on, whatever the job."""


class Answer(NamedTuple):
    """The result of a job, or why there is none."""

    worker: str = ""
    result: Any = None
    mistake: str | None = None
    """Of the user, found by the job: another try would repeat it."""
    lost: str | None = None
    """How the worker ended, or the error that the job raised."""
    late: bool = False
    """Whether the worker was killed because the job exceeded its time limit."""
    suspect: bool = False
    """Whether the job was lost with others, of which any may be to blame."""

    def value(self) -> Any:
        """The result; a mistake of the user is raised."""
        if self.mistake is not None:
            raise ProblemError(self.mistake)
        return self.result


class Sent(NamedTuple):
    """A pickled job, with what its worker must know of the sender."""

    job: bytes
    process: tuple[str, int]
    """Host and number of the sender's process."""
    code: Mapping[str, str]
    """The code that the worker must have too, as from `own_code`."""


def this_process() -> tuple[str, int]:
    """The host and the number of this process."""
    return socket.gethostname(), os.getpid()


def pack_job(job: Job) -> Sent:
    """A job ready to be sent; one that cannot be pickled is a mistake of the user."""
    try:
        return Sent(pickle.dumps(job), this_process(), own_code())
    except Exception as error:
        raise ProblemError(
            f"the work cannot be sent to a worker: {in_words(error)}; leave what "
            "belongs to this process alone, such as locks and open files, out of it"
        ) from error


def run_sent(sent: Sent) -> Answer:
    """Run a job in a worker, unless the worker has other code than the sender."""
    host, number = this_process()
    worker = f"{host}:{number}"
    if differs := difference(host, own_code(), sent.code):
        return Answer(worker, mistake=differs)
    try:
        job: Job = pickle.loads(sent.job)
    except (ImportError, AttributeError) as error:
        return Answer(worker, mistake=not_loaded(error))
    if (host, number) != sent.process and "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)  # a worker is one of several on its machine
    return run_job(job, worker)


def run_job(job: Job, worker: str = "this process") -> Answer:
    """Run a job, and answer with its result or its error."""
    try:
        return Answer(worker, job.run())
    except ProblemError as error:
        return Answer(worker, mistake=str(error))
    except Exception as error:
        return Answer(worker, lost=in_words(error))


def not_loaded(error: BaseException) -> str:
    """The mistake of a user whose worker lacks a module."""
    return (
        f"the work cannot be loaded in a worker: {in_words(error)}; is its module, and "
        "recallscope, installed there?"
    )


def in_words(error: BaseException) -> str:
    """The kind of an error and its message, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
