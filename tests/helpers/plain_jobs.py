"""Jobs for workers to do, in a file that imports next to nothing: each worker imports it again."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any, NamedTuple


class Sleep(NamedTuple):
    seconds: float = 0.0

    def run(self) -> int:
        time.sleep(self.seconds)
        return os.getpid()


class OneLongCall:
    """Ignores signals, like a product of large matrices: Python handles them between calls."""

    def run(self) -> int:
        return sum(range(10**13))


class Killed:
    """Its process is killed."""

    def run(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class KilledInItsAnswer:
    """Its process is killed when a part of a long answer has been sent."""

    def run(self) -> bytes:
        threading.Thread(target=_kill_soon, daemon=True).start()
        return bytes(2**28)


def _kill_soon() -> None:
    time.sleep(0.4)
    os.kill(os.getpid(), signal.SIGKILL)


class Settings:
    """What a worker finds around it: its number, threads of torch, and a variable."""

    def run(self) -> tuple[int, int, str | None]:
        import torch

        return os.getpid(), torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS")


class Bad:
    def run(self) -> None:
        raise ArithmeticError("bad")


class Unreadable:
    """It raises an error when it is unpickled."""

    def __reduce__(self) -> Any:
        return (int, ("no number",))
