"""Starting Ray so that an interrupt is seen. Nothing here needs Ray."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

_TICK = 0.1  # seconds between looks; Ctrl-C is seen this soon


class RayStarter:
    """Ray's start, in a thread: it waits for seconds at a time and does not see an interrupt.

    The thread stays until it is let go, as Ray's processes end with the thread that started them.
    """

    def __init__(self, start: Callable[..., Any], **how: Any) -> None:
        self._error: BaseException | None = None
        self._started, self._let_go = threading.Event(), threading.Event()
        threading.Thread(target=self._run, args=(start, how), daemon=True).start()

    def _run(self, start: Callable[..., Any], how: Mapping[str, Any]) -> None:
        try:
            start(**how)
        except BaseException as error:
            self._error = error
        self._started.set()
        self._let_go.wait()

    def wait(self) -> None:
        """Until it is done; raises what it raised."""
        while not self._started.wait(_TICK):
            pass
        if self._error is not None:
            raise self._error

    @property
    def done(self) -> bool:
        """Whether Ray has started, or failed to."""
        return self._started.is_set()

    def let_go(self) -> None:
        """End the thread, and with it what is left of the processes it started."""
        self._let_go.set()
