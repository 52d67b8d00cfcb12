"""Cores and memory of this machine."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUPS = Path("/proc/self/cgroup")


def machine_memory() -> float:
    """Bytes of memory that this process may use, or infinity where the system does not say.

    That is what is in the machine or, in a container, what the container may use.
    """
    try:
        installed = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        installed = math.inf
    return min(installed, cgroup_memory(_CGROUPS, _OWN_CGROUPS))


def memory_left() -> float:
    """Memory that is left to other processes: this one has torch, a store and more loaded."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        own = pages * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        own = 0
    return machine_memory() - own


@cache
def cgroup_memory(root: Path, own: Path) -> float:
    """The least of the limits of this process's control group and of those above it."""
    limits = [math.inf]
    for file in _limit_files(root, own):
        try:
            limits.append(float(int(file.read_text())))
        except (OSError, ValueError):
            continue  # not there, not ours to read, or "max"
    return min(limits)


def _limit_files(root: Path, own: Path) -> Iterator[Path]:
    """Where the limits are, in both versions of control groups."""
    try:
        lines = own.read_text().splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        top = root / "memory" if controllers else root
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        # Seen from within a container, parts of the path may be missing, or be above the top.
        parts = [part for part in path.split("/") if part not in ("", ".", "..")]
        for count in range(len(parts) + 1):
            yield top.joinpath(*parts[:count]) / name


def available_cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
