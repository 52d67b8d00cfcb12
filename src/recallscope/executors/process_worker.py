"""A worker process: runs the jobs that its driver sends, until the driver ends."""

from __future__ import annotations

import importlib
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Iterable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from recallscope.executors.base import PackedJob, attempt


def serve(channel: int, one_thread: bool, preload: Iterable[str]) -> None:
    """Work until the driver closes its end, or dies."""
    driver: Connection[Any, Any] = Connection(channel)
    load(preload, one_thread)
    with suppress(BrokenPipeError):  # the driver has died: `_receive` ends this process
        driver.send(("ready",))
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(driver, jobs), daemon=True).start()
    while True:
        number, job, timed = jobs.get()
        if timed:  # all processes of a machine share one monotonic clock
            driver.send(("begun", number, time.monotonic()))
        driver.send(("done", number, *attempt(PackedJob(job))))


def load(modules: Iterable[str], one_thread: bool = True) -> None:
    """Import the modules of jobs, and limit torch to one thread if it was imported."""
    for name in modules:
        importlib.import_module(name)
    if one_thread and "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _receive(driver: Connection[Any, Any], jobs: queue.SimpleQueue[Any]) -> None:
    """Read ahead, and end the process as soon as the driver is gone."""
    try:
        while True:
            jobs.put(driver.recv())
    except (EOFError, OSError):
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
