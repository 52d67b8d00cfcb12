"""What must not happen when something is read, and whether it has happened.

A reader may accept an input, or refuse it by `ProblemError` in one sentence. It may not end in
another exception, take ten seconds or two gibibytes, run anything, or write anything but what it
was asked to write. The last two are seen by an audit hook of Python.
"""

from __future__ import annotations

import os
import random
import re
import resource
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import fuzz_changes as changes

from recallscope import ProblemError

MOST_MEMORY = 2 * 2**30
_LONGEST_SENTENCE = 3000
_RUNS = ("os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn")
_RUNS += ("subprocess.Popen", "pty.spawn", "pickle.find_class", "webbrowser.open", "os.startfile")
_RUNS += ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "urllib.Request")
_CHANGES = {"os.remove": 1, "os.rename": 2, "os.mkdir": 1, "os.rmdir": 1, "os.link": 2}
_CHANGES |= {"os.symlink": 2, "os.truncate": 1, "os.chmod": 1, "os.chown": 1, "os.utime": 1}
_CHANGES |= {"os.setxattr": 1, "os.removexattr": 1, "shutil.rmtree": 1}
_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Reader(NamedTuple):
    """Something that reads what comes from outside.

    Attributes:
        name: what it reads.
        seeds: sound inputs.
        change: from one of them to a hostile one.
        put: writes an input to where `read` finds it, in the folder of this process.
        read: reads it, and says how that ended, or raises `ProblemError` or `BadError`.
        writes: whether it may write to the folder.
        starts: called once before the first input.
    """

    name: str
    seeds: Callable[[], list[bytes]]
    change: changes.Change
    put: Callable[[bytes], object]
    read: Callable[[bytes], object]
    writes: bool = False
    starts: Callable[[], object] = tuple


class BadError(Exception):
    """What a command line did wrong, other than by an exception."""


class Ended(NamedTuple):
    """How the reading of one input ended.

    Attributes:
        outcome: read, refused, long, or what is bad.
        said: the sentence or the exception, without what is quoted from the input.
        where: the last line of the package that an exception passed.
    """

    outcome: str
    said: str
    where: str = ""

    @property
    def bad(self) -> bool:
        """Whether this must not happen."""
        return self.outcome not in ("read", "refused", "long")


_armed = False
_place = ""
_writes = False
_seen: list[str] = []
_hooked: list[bool] = []


def _hook(event: str, given: tuple[Any, ...]) -> None:
    if not _armed:
        return
    if event in _RUNS:
        _seen.append(f"executed: {event} {given!r:.200}")
    elif event == "exec" and str(getattr(given[0], "co_filename", "")).startswith(_place):
        _seen.append(f"executed: {given[0]!r:.200}")
    elif event == "open":
        path, _, flags = given
        if flags is not None and flags & _TO_WRITE and not isinstance(path, int):
            _changed(event, path)
    elif event in _CHANGES:
        for path in given[: _CHANGES[event]]:
            if not isinstance(path, int):
                _changed(event, path)


def _changed(event: str, path: Any) -> None:
    name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - a path may be anything here
    place = os.path.join(os.path.realpath(os.path.dirname(name)), os.path.basename(name))  # noqa: PTH118, PTH119, PTH120
    given = place.startswith(("/dev/", "/proc/self/fd")) or (
        _writes and (place + "/").startswith(_place)
    )
    if not given:
        _seen.append(f"written outside: {event} {place!r:.200}")


def start(reader: Reader) -> None:
    """Watch this process from now on, whose folder is where inputs lie."""
    global _place, _writes
    _place, _writes = f"{Path.cwd().resolve()}/", reader.writes
    os.environ.update({"HOME": _place, "TMPDIR": _place, "AWS_EC2_METADATA_DISABLED": "true"})
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    reader.starts()
    sys.dont_write_bytecode = True
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", RuntimeWarning)
    if not _hooked:
        _hooked.append(True)
        sys.addaudithook(_hook)  # for good: none can be removed


def some(reader: Reader, kept: list[bytes], count: int) -> list[tuple[bytes, Ended]]:
    """Read some sound inputs, those that were kept, and so many changed ones, in this folder."""
    seeds, rng = reader.seeds(), random.Random(reader.name)
    start(reader)
    changed = [reader.change(rng.choice(seeds), rng) for _ in range(count)]
    sound = rng.sample(seeds, min(len(seeds), 10))
    return [(content, judged(reader, content)) for content in [*sound, *kept, *changed]]


def limit_memory() -> None:
    """Let this process take up to the limit, and a half more of address space, than it has."""
    found = re.search(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    most = int(found.group(1)) * 1024 + MOST_MEMORY + MOST_MEMORY // 2
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


@contextmanager
def _watched() -> Any:
    global _armed
    _seen.clear()
    _armed = True
    try:
        yield
    finally:
        _armed = False


def judged(reader: Reader, content: bytes) -> Ended:
    """Read one input."""
    reader.put(content)
    before = _peak()
    try:
        with _watched():
            outcome = reader.read(content)
        ended = Ended("long" if outcome == "long" else "read", str(outcome or ""))
    except ProblemError as error:
        said = str(error)
        ended = Ended("refused", pattern(said))
        if not said or "\n" in said or len(said) > _LONGEST_SENTENCE:
            ended = Ended("not a sentence", said[:300], _where(error))
    except BadError as error:
        ended = Ended(*map(str, error.args))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        ended = Ended("traceback", f"{type(error).__name__}: {error!s:.200}", _where(error))
    if _seen:
        what, _, which = _seen[0].partition(": ")
        return Ended(what, which, pattern(which)[:40])
    if _peak() > max(MOST_MEMORY, before):
        return Ended("above 2 GiB", ended.said, reader.name)
    return ended


def _peak() -> int:
    """The most bytes that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def pattern(said: str) -> str:
    """A sentence without names and numbers of the input."""
    plain = re.sub(r"'[^']*'|\"[^\"]*\"|\[.*\]|\{.*\}", "…", said)
    return re.sub(r"[-+]?\d[\d.,e+-]*|…[^a-z]*…", "#", plain)[:80]


def _where(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/recallscope/" in frame.filename] or frames[-1:]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""
