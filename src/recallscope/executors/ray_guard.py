"""End a private Ray cluster reliably: find and kill its processes, even if ours was killed.

This file does not need Ray.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path


def cluster_processes(folder: str) -> dict[int, str]:
    """The processes of the cluster in this folder, and the commands that started them.

    They are found by their command or, as Ray may change it, by their open files. Without /proc,
    none are found.
    """
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            files = [str(file.readlink()) for file in (process / "fd").iterdir()]
            command = (process / "cmdline").read_text(errors="replace")
        except OSError:
            continue  # gone, or not ours
        ours = any(file.startswith(folder + "/") for file in files)
        if (ours or folder in command) and int(process.name) != os.getpid():
            found[int(process.name)] = command
    return found


def kill_cluster(folder: str, spared: set[int]) -> None:
    """Kill the processes of the cluster in this folder; wait for a second until all are gone."""
    for _ in range(50):
        found = set(cluster_processes(folder)) - spared
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        if not found:
            return
        time.sleep(0.02)


def clear_up(folder: str, spared: set[int]) -> None:
    """Kill the cluster in this folder and remove the folder; repeat if it is still there.

    A killed process has no open files any more, but one of its threads may still finish a write.
    """
    for _ in range(50):
        kill_cluster(folder, spared)
        shutil.rmtree(folder, ignore_errors=True)
        if not Path(folder).exists():
            return
        time.sleep(0.02)


def watch(parent: int, folder: str) -> None:
    """Wait for the end of the process that started this one, then clean up."""
    while os.getppid() == parent:
        time.sleep(0.2)
    clear_up(folder, set())


_GUARD = (cluster_processes, kill_cluster, clear_up, watch)


def start_guard(folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that ends the cluster if we are killed, since Ray would leave some of it."""
    program = "\n".join(
        [
            "import contextlib, os, shutil, time",
            "from pathlib import Path",
            *(inspect.getsource(each) for each in _GUARD),
            f"watch({os.getpid()}, {str(folder)!r})",
        ]
    )
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # out of reach of Ctrl-C
    )
