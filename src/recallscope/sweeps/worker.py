"""A worker process: takes work from its driver, does it, sends the result, until the driver ends.

It is started as `python -c` with the number of one end of a socket pair, so that a user's script is
not imported a second time, and nothing listens anywhere.
"""

from __future__ import annotations

import os
import queue
import threading
import traceback
from multiprocessing.connection import Connection
from typing import Any


def serve(channel: int) -> None:
    """Work until the driver closes its end, or dies."""
    driver: Connection[Any, Any] = Connection(channel)
    import torch

    import recallscope.sweeps.sharded  # before the first task, not in it
    import recallscope.sweeps.work  # noqa: F401
    from recallscope.sweeps.executor import attempt

    torch.set_num_threads(1)
    driver.send(None)  # ready
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(driver, tasks), daemon=True).start()
    while True:
        number, work = tasks.get()
        driver.send((number, *attempt(work)))


def _receive(driver: Connection[Any, Any], tasks: queue.SimpleQueue[Any]) -> None:
    """Read ahead, and end the process as soon as there is nobody left to work for."""
    try:
        while True:
            tasks.put(driver.recv())
    except (EOFError, OSError):
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
