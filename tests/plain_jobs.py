"""Jobs for workers to do, in a file that imports next to nothing: each worker imports it again."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import NamedTuple


class Sleep(NamedTuple):
    seconds: float = 0.0

    def run(self) -> int:
        time.sleep(self.seconds)
        return os.getpid()


class OneLongCall:
    """Ignores signals, like a product of large matrices: Python handles them between calls."""

    def run(self) -> int:
        return sum(range(10**13))


class StoppedInItsAnswer:
    """Its process is stopped when a part of a long answer has been sent."""

    def run(self) -> bytes:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGSTOP)).start()
        return bytes(2**26)
