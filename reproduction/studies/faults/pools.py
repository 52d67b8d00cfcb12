"""How pools of processes behave when a worker, a driver or the memory goes, and how fast they are.

    faults/pools --csv pools.csv   # after pip install pebble

Five pools of two workers, each in a process of its own: the standard one, loky's, pebble's, and a
thread for each worker that owns a standard or a loky pool of one. What is asked:

- a worker is killed (by SIGKILL, or for want of memory in a control group of 600 MB) while another
  task runs, and more wait: which tasks are lost, and how soon is the last one done?
- a task is one product of large matrices that takes 20 s: how soon after its limit of 1 s is it
  ended?
- the driver is killed: how long do its workers live on? Each has a thread that waits for its
  parent, as no pool ends its workers by itself.
- a script without `if __name__ == "__main__"`: does it run?
- 1,500 tasks that do next to nothing, four under way: how long do they take, and the start?
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from pathlib import Path
from typing import Any

from recallscope.common.csv_files import write_csv
from reproduction.studies.faults.faults import small_group

WORKERS = 2
GROUP = 600 * 10**6  # bytes
LIMIT = 1.0  # seconds


def end_with(driver: int) -> None:
    """Let a worker end when its driver does."""

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(0.1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def standard(workers: int = WORKERS) -> ProcessPoolExecutor:
    spawn = multiprocessing.get_context("spawn")
    driver = (os.getpid(),)
    return ProcessPoolExecutor(workers, mp_context=spawn, initializer=end_with, initargs=driver)


def loky(workers: int = WORKERS) -> Any:
    from loky import ProcessPoolExecutor as Loky

    return Loky(workers, initializer=end_with, initargs=(os.getpid(),))


def kill_standard(pool: ProcessPoolExecutor) -> None:
    for process in list(pool._processes.values()):
        process.kill()


def kill_loky(pool: Any) -> None:
    pool.shutdown(kill_workers=True)


class Single:
    """A thread for each worker, which owns a pool of one and replaces it when it breaks."""

    def __init__(self, make: Callable[[int], Any], kill: Callable[[Any], None]) -> None:
        self.make, self.kill = make, kill
        self.threads = ThreadPoolExecutor(WORKERS)
        self.own = threading.local()

    def submit(self, function: Callable[..., Any], *args: Any, limit: float | None = None) -> Any:
        return self.threads.submit(self.run, function, args, limit)

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], limit: float | None) -> Any:
        if getattr(self.own, "pool", None) is None:
            self.own.pool = self.make(1)
            self.own.pool.submit(os.getpid).result()
        try:
            return self.own.pool.submit(function, *args).result(limit)
        except TimeoutError:
            self.kill(self.own.pool)
            self.own.pool = None
            raise
        except Exception:
            self.own.pool = None
            raise


class Shared:
    """One pool of all workers, made anew when it breaks; no time limit."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make, self.pool = make, make()

    def submit(self, function: Callable[..., Any], *args: Any, limit: float | None = None) -> Any:
        if limit is not None:
            raise NotImplementedError
        try:
            return self.pool.submit(function, *args)
        except RuntimeError:  # broken
            self.pool = self.make()
            return self.pool.submit(function, *args)


class Pebble:
    def __init__(self) -> None:
        import pebble

        spawn = multiprocessing.get_context("spawn")
        self.pool = pebble.ProcessPool(
            WORKERS, initializer=end_with, initargs=(os.getpid(),), context=spawn
        )

    def submit(self, function: Callable[..., Any], *args: Any, limit: float | None = None) -> Any:
        return self.pool.schedule(function, args, timeout=limit)


POOLS: dict[str, Callable[[], Any]] = {
    "standard": lambda: Shared(standard),
    "loky": lambda: Shared(loky),
    "pebble": Pebble,
    "standard, one each": lambda: Single(standard, kill_standard),
    "loky, one each": lambda: Single(loky, kill_loky),
}


def tiny(number: int) -> int:
    return number


def nap(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def killed() -> None:
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)


def greedy() -> int:
    time.sleep(0.5)
    return len(b"1" * (2 * GROUP))


def product() -> float:
    import torch

    torch.set_num_threads(1)
    matrix = torch.ones(10_000, 10_000)
    return float((matrix @ matrix)[0, 0])


def loss(pool: Any, fatal: Callable[[], Any]) -> dict[str, Any]:
    """What else is lost with a worker, and when the tasks behind it are done."""
    for future in [pool.submit(nap, 0.3) for _ in range(4)]:
        future.result()
    started = time.perf_counter()
    bad = pool.submit(fatal)
    others = [pool.submit(nap, 1.0) for _ in range(4)]
    error = bad.exception(60)
    reason = f"{type(error).__name__}: {' '.join(str(error).split())[:80]}"
    lost = 0
    for other in others:
        if other.exception(60) is not None:
            lost += 1
            pool.submit(nap, 1.0).result(60)
    return {"others lost": lost, "seconds": time.perf_counter() - started, "reason": reason}


def case(name: str, asked: str) -> dict[str, Any]:
    """Ask one thing of one pool, in this process."""
    started = time.perf_counter()
    pool = POOLS[name]()
    if asked == "worker killed":
        return loss(pool, killed)
    if asked == "out of memory":
        return loss(pool, greedy)
    if asked == "time limit":
        pool.submit(tiny, 0).result()
        started = time.perf_counter()
        try:
            pool.submit(product, limit=LIMIT).result()
        except NotImplementedError:
            return {"reason": "has none"}
        except TimeoutError:
            late = time.perf_counter() - started - LIMIT
            started = time.perf_counter()
            pool.submit(tiny, 0).result()
            return {"seconds": late, "reason": f"next after {time.perf_counter() - started:.1f} s"}
    if asked == "driver killed":
        pid = pool.submit(os.getpid).result()
        pool.submit(product)
        time.sleep(1.0)
        print(pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if asked == "tiny":
        for future in [pool.submit(nap, 0.3) for _ in range(4)]:
            future.result()
        begin = time.perf_counter() - started
        started, left, under_way = time.perf_counter(), 1500, set[Future[Any]]()
        while left or under_way:
            while left and len(under_way) < 2 * WORKERS:
                under_way.add(pool.submit(tiny, left))
                left -= 1
            under_way = set(wait(under_way, return_when=FIRST_COMPLETED).not_done)
        return {"seconds": time.perf_counter() - started, "reason": f"start {begin:.2f} s"}
    raise AssertionError(asked)


UNGUARDED = """
import sys
from reproduction.studies.faults.pools import POOLS, tiny
print(POOLS[sys.argv[1]]().submit(tiny, 7).result(20), flush=True)
import os
os._exit(0)
"""


def ask(name: str, asked: str) -> dict[str, Any]:
    """Ask one thing of one pool, in another process."""
    command = [sys.executable, "-m", "reproduction.studies.faults.pools", name, asked]
    if asked == "no guard":
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "script.py"
            script.write_text(UNGUARDED)
            environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
            command = [sys.executable, str(script), name]
            output = subprocess.run(
                command, capture_output=True, text=True, env=environment, timeout=60
            )
        return {"reason": "runs" if output.stdout == "7\n" else "does not run"}
    if asked == "out of memory":
        with small_group(GROUP) as join:
            output = subprocess.run(
                command, capture_output=True, text=True, preexec_fn=join, timeout=40
            )
    else:
        output = subprocess.run(command, capture_output=True, text=True, timeout=40)
    if asked == "driver killed":
        pid, ended = int(output.stdout), time.perf_counter()
        while Path(f"/proc/{pid}").exists() and time.perf_counter() < ended + 30:
            time.sleep(0.01)
        return {"seconds": time.perf_counter() - ended}
    lines = output.stdout.strip().splitlines()
    if not lines:
        return {"reason": "no answer: " + output.stderr.strip()[-80:]}
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


CASES = ("worker killed", "out of memory", "time limit", "driver killed", "no guard", "tiny")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("pool", nargs="?")
    parser.add_argument("case", nargs="?")
    parser.add_argument("--csv", help="write the answers to a table")
    given = parser.parse_args()
    if given.pool:
        print(json.dumps(case(given.pool, given.case)), flush=True)
        os._exit(0)
    rows = []
    for asked in CASES:
        for turn in range(3 if asked == "tiny" else 1):
            for name in POOLS:
                try:
                    answer = ask(name, asked)
                except (PermissionError, subprocess.TimeoutExpired) as error:
                    answer = {"reason": type(error).__name__}
                empty = {"others lost": None, "seconds": None, "reason": ""}
                rows.append({"case": asked, "pool": name, "turn": turn} | empty | answer)
                print(rows[-1], flush=True)
    if given.csv:
        write_csv(rows, given.csv)


if __name__ == "__main__":
    main()
