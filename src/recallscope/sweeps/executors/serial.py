"""Jobs one after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class Serial(Executor):
    """Runs a job in this process as it is submitted.

    >>> Serial().submit(sum, [1, 2]).result()
    3
    """

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The future of a call that has been made."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
