"""Processes: what they import, their children, whether they run, where they listen."""

from __future__ import annotations

import contextlib
import re
import socket
from pathlib import Path

HERE = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "sweeps")]
"""Where programs that tests start find the jobs of these tests."""


def tree(root: int) -> list[int]:
    """A process's children, theirs, and so on."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    found, todo = [], [root]
    while todo:
        todo += (more := children.get(todo.pop(), []))
        found += more
    return found


def living(pids: list[int]) -> list[str]:
    """The names of those that still run."""
    found = []
    for pid in pids:
        with contextlib.suppress(OSError):
            _, name, rest = re.split(r"[()]+", Path(f"/proc/{pid}/stat").read_text(), maxsplit=2)
            if rest.split()[0] != "Z":
                found.append(name)
    return found


def command(pid: int) -> str:
    """The command line of a process; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return ""


def listening(pids: list[int]) -> list[tuple[int, str, int]]:
    sockets = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                raw, port = fields[1].split(":")
                raw_bytes = bytes.fromhex(raw)
                words = [raw_bytes[i : i + 4][::-1] for i in range(0, len(raw_bytes), 4)]
                family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
                address = socket.inet_ntop(family, b"".join(words)).removeprefix("::ffff:")
                sockets[f"socket:[{fields[9]}]"] = (address, int(port, 16))
    found = []
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = str(link.readlink())
            except OSError:
                continue
            if target in sockets:
                found.append((pid, *sockets[target]))
    return sorted(set(found))
