"""Threads that each run whole pieces of work: no bit of a result depends on their number.

A matrix product cut over two threads may round otherwise than on one. Here every operation runs
on a single thread, and the pieces, not the operations, are distributed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


class Threads:
    """As many threads as torch was given, to be entered once for a whole experiment.

    While any is entered, torch's own number of threads is that of the first for the process.

    Args:
        of_torch: threads of one operation; several round otherwise than one.

    >>> with Threads() as threads:
    ...     list(threads.map(lambda x: x * x, range(5)))
    [0, 1, 4, 9, 16]
    """

    _lock = threading.Lock()
    _entered = 0
    _threads = 1

    def __init__(self, of_torch: int = 1) -> None:
        self._of_torch = of_torch

    def __enter__(self) -> Threads:
        with Threads._lock:
            if Threads._entered == 0:
                Threads._threads = torch.get_num_threads()
                torch.set_num_threads(self._of_torch)
            Threads._entered += 1
        self._pool: ThreadPoolExecutor | None = None
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)
        finally:
            with Threads._lock:
                Threads._entered -= 1
                if Threads._entered == 0:
                    torch.set_num_threads(Threads._threads)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Results in order, with a bounded number of pieces under way.

        Args:
            function: what to do with each item.
            items: read as they are needed, a few at a time.

        Returns:
            What the function returns, in the order of the items.

        Raises:
            RuntimeError: outside of a `with` block.
        """
        if not hasattr(self, "_pool"):
            raise RuntimeError("threads must be entered first: with Threads() as threads: …")
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
