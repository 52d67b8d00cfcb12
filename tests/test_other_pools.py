"""Why recallscope has its own process pool: faults of two libraries that ours was made to avoid.

A test that fails here is good news: read the reasons for the pool in CONTRIBUTING.md again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recallscope.executors.child import LONGEST_STOP, process_state

pytestmark = pytest.mark.slow

DRIVER = """
import os, sys, time

def work(path):
    open(path, "w").write(str(os.getpid()))
    time.sleep(60)

def pebble(path):
    import pebble
    with pebble.ProcessPool(1) as pool:
        print(pool.schedule(work, [path]).exception(), flush=True)

def loky(path):
    import loky
    print(loky.get_reusable_executor(1).submit(work, path).exception(), flush=True)

if __name__ == "__main__":
    {pool}(sys.argv[1])
"""


def started(pool: str, tmp_path: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A driver with one worker at work, and the worker's number."""
    script, place = tmp_path / "driver.py", tmp_path / "worker"
    script.write_text(DRIVER.replace("{pool}", pool))
    command = [sys.executable, str(script), str(place)]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        if place.exists() and (text := place.read_text()):
            return driver, int(text)
        time.sleep(0.1)
    raise AssertionError("no worker came up")


def ends(worker: int, seconds: float) -> bool:
    """Whether a process ends within a time."""
    for _ in range(int(10 * seconds)):
        if process_state(worker) in (None, "Z"):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("pool", ["pebble", "loky"])
def test_a_worker_outlives_a_killed_driver(pool, tmp_path):
    driver, worker = started(pool, tmp_path)
    try:
        driver.kill()
        assert not ends(worker, 8)
    finally:
        _kill(driver, worker)


@pytest.mark.parametrize("pool", ["pebble", "loky"])
def test_a_stopped_worker_is_not_noticed(pool, tmp_path):
    driver, worker = started(pool, tmp_path)
    try:
        os.kill(worker, signal.SIGSTOP)
        with pytest.raises(subprocess.TimeoutExpired):
            driver.wait(4 * LONGEST_STOP)
    finally:
        _kill(driver, worker)


def _kill(driver: subprocess.Popen[bytes], worker: int) -> None:
    driver.kill()
    driver.wait()
    if process_state(worker) not in (None, "Z"):
        os.kill(worker, signal.SIGKILL)
