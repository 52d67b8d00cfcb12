"""Threads that each run whole pieces of work, so that no bit of a result depends on their number.

A matrix product cut over two threads may round otherwise than on one. Here every operation runs
on a single thread, and the pieces, not the operations, are shared out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers:
    """As many threads as torch was given, to be entered once for a whole experiment.

    While it is entered, torch's own number of threads is 1 for the process.

    >>> with Workers() as workers:
    ...     list(workers.map(lambda x: x * x, range(5)))
    [0, 1, 4, 9, 16]
    """

    def __enter__(self) -> Workers:
        self._threads = torch.get_num_threads()
        torch.set_num_threads(1)
        self._pool: ThreadPoolExecutor | None = None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        torch.set_num_threads(self._threads)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Results in order, with a bounded number of pieces under way."""
        if self._threads == 1:
            yield from map(function, items)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(
                self._threads, initializer=torch.set_num_threads, initargs=(1,)
            )
        pending: deque[Future[Result]] = deque()
        for item in items:
            pending.append(self._pool.submit(function, item))
            if len(pending) > 2 * self._threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
