"""Whole files under short names: in a folder, or under an address of an object store.

A file appears complete or not at all, and is never changed. In a folder that takes a temporary
name, fsync, a rename and fsync of the folder; in an object store a put is atomic by itself, and a
rename is not.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from recallscope.problem import ProblemError

_BEAT = 5.0  # seconds between signs of life of a lock in an object store
_BEATS_MISSED = 3  # after which its owner is taken for dead


class StoreError(ProblemError):
    """A store that cannot be read, written or locked: one sentence that says why."""


class Files(Protocol):
    """The few things a store asks of the place where it is kept."""

    place: str

    def exists(self) -> bool:
        """Whether the place is there."""

    def names(self) -> list[str]:
        """The names of all files that are complete, sorted."""

    def read(self, name: str) -> bytes:
        """All of a file; FileNotFoundError if there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Make a file, whole and for good."""

    def rename(self, name: str, new: str) -> None:
        """Give a file another name; where that is not atomic, both may be seen for a while."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    def lock(self) -> AbstractContextManager[Callable[[], None]]:
        """A context in which nobody else has the lock, or `StoreError` if somebody has.

        It gives a function that raises `StoreError` should the lock have been lost meanwhile.
        """


def files_at(place: str | Path) -> Files:
    """The files of a folder, or of an address such as s3://bucket/folder."""
    place = str(place)
    if not place:
        raise StoreError("a store needs a place: a folder, or an address such as s3://bucket/facts")
    if place.startswith("file://"):
        place = place.removeprefix("file://")
    return ObjectStore(place) if "://" in place else Folder(Path(place))


class Folder:
    """A folder of a file system."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = str(path)

    def exists(self) -> bool:
        """Whether there is such a folder."""
        return self.path.is_dir()

    def names(self) -> list[str]:
        """Names of files; those of files being written, and of the lock, begin with a dot."""
        return sorted(path.name for path in self.path.iterdir() if path.name[0] != ".")

    def read(self, name: str) -> bytes:
        """All of a file."""
        return (self.path / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        """Write beside, flush to the disk, move into place, and flush that too."""
        part = self.path / f".{name}.part"
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(self.path / name)
        except OSError:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise
        self._flush()

    def rename(self, name: str, new: str) -> None:
        """Move a file, for good."""
        (self.path / name).replace(self.path / new)
        self._flush()

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        (self.path / name).unlink(missing_ok=True)

    def _flush(self) -> None:
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @contextmanager
    def lock(self) -> Iterator[Callable[[], None]]:
        """A lock that the system takes back when its owner ends, however it ends."""
        import fcntl  # which not every system has

        try:
            self.path.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            raise StoreError(
                f"the store {self.place!r} cannot be written to: {error.strerror}"
            ) from None
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StoreError(_in_use(self.place, os.pread(file, 1000, 0))) from None
            except OSError as error:
                raise StoreError(
                    f"the file system of the store {self.place!r} has no locks "
                    f"({error.strerror}); put the store elsewhere"
                ) from None
            # Whose it is, for the message above; a disk that is full is told of when it matters.
            with suppress(OSError):
                os.ftruncate(file, 0)
                os.pwrite(file, _owner(), 0)
            for part in self.path.glob(".*.part"):
                part.unlink(missing_ok=True)  # what a killed owner of the lock left half written
            yield lambda: None
        finally:
            os.close(file)


class ObjectStore:
    """An address that fsspec knows: s3://, gs://, memory:// and others."""

    def __init__(self, address: str) -> None:
        try:
            import fsspec
        except ImportError:
            raise StoreError("stores elsewhere need fsspec: pip install fsspec") from None
        self.place = address.rstrip("/")
        try:
            self._system, self._root = fsspec.core.url_to_fs(self.place)
        except (ImportError, ValueError) as error:
            raise StoreError(f"the store {address!r} cannot be reached: {error}") from None

    def exists(self) -> bool:
        """Whether anything is there."""
        return bool(self._listed())

    def names(self) -> list[str]:
        """The names of all objects but locks."""
        return sorted(name for name in self._listed() if not name.startswith("."))

    def _listed(self) -> list[str]:
        # Another driver may have written since: a listing kept from before will not do.
        try:
            with self._can_be("read"):
                self._system.invalidate_cache()
                found = self._system.ls(self._root, detail=False)
        except FileNotFoundError:
            return []
        return [path.rstrip("/").rsplit("/", 1)[-1] for path in found]

    def read(self, name: str) -> bytes:
        """All of an object."""
        with self._can_be("read"):
            content: bytes = self._system.cat_file(f"{self._root}/{name}")
        return content

    def write(self, name: str, content: bytes) -> None:
        """One put, or several parts that become an object with the last request."""
        with self._can_be("written to"):
            self._system.pipe_file(f"{self._root}/{name}", content)

    def rename(self, name: str, new: str) -> None:
        """Put a copy, then remove the first."""
        self.write(new, self.read(name))
        self.remove(name)

    def remove(self, name: str) -> None:
        """Remove an object, if it is there."""
        with suppress(FileNotFoundError), self._can_be("written to"):
            self._system.rm_file(f"{self._root}/{name}")

    @contextmanager
    def lock(self) -> Iterator[Callable[[], None]]:
        """A lock made of puts and listings alone.

        Each driver puts an object of its own and then looks for others: of two that come at the
        same time at least one sees the other and gives way. The object is put again every few
        seconds; one that does not change while a newcomer watches belongs to a dead driver. No
        clock is compared with another.

        A driver that only stood still finds its object gone. Should it have put it once more just
        as it woke up, it knows by its own clock that it was late, and gives way to whom it sees.
        """
        own = f".lock-{uuid.uuid4().hex}"
        try:
            self.write(own, _owner())
        except FileNotFoundError as error:
            raise StoreError(f"the store {self.place!r} cannot be written to: {error}") from None
        heard, held, lost = time.monotonic(), False, False
        stop = threading.Event()

        def check() -> None:
            nonlocal lost
            names = self._listed()
            others = any(name.startswith(".lock-") and name != own for name in names)
            late = time.monotonic() - heard > _BEAT * (_BEATS_MISSED - 1)
            lost = lost or own not in names or (held and late and others)
            if lost:
                raise StoreError(
                    f"the store {self.place!r} gave its lock to another process, as this one was "
                    "not heard of for too long; run the same command again"
                )

        def beat() -> None:
            nonlocal heard
            while not stop.wait(_BEAT):
                with suppress(Exception):  # the next may get through; three missed are too many
                    check()
                    self.write(own, _owner())
                    check()
                    heard = time.monotonic()

        beating = threading.Thread(target=beat, daemon=True)
        beating.start()
        try:
            self._wait_for_the_dead(own)
            held = True
            yield check
        finally:
            stop.set()
            beating.join()
            with suppress(StoreError):  # then the next driver takes it for that of a dead one
                self.remove(own)

    def _others(self, own: str) -> dict[str, bytes]:
        found = {}
        for name in self._listed():
            if name.startswith(".lock-") and name != own:
                with suppress(FileNotFoundError):
                    found[name] = self.read(name)
        return found

    def _wait_for_the_dead(self, own: str) -> None:
        first = self._others(own)
        if not first:
            return
        until = time.monotonic() + _BEAT * _BEATS_MISSED
        while time.monotonic() < until:
            time.sleep(_BEAT / 5)
            for name, content in self._others(own).items():
                if first.get(name) != content:
                    raise StoreError(_in_use(self.place, content))
        for name in first:
            self.remove(name)

    @contextmanager
    def _can_be(self, done: str) -> Iterator[None]:
        """Clients of object stores have exceptions of their own, each of another kind."""
        try:
            yield
        except FileNotFoundError:
            raise
        except Exception as error:
            why = " ".join(str(error).split())
            if not why or not isinstance(error, OSError):
                why = f"{type(error).__name__}: {why}"
            raise StoreError(f"the store {self.place!r} cannot be {done}: {why}") from None


def _owner() -> bytes:
    """Who holds a lock; different each time, so that a change of it is a sign of life."""
    owner = {"process": os.getpid(), "host": socket.gethostname(), "beat": uuid.uuid4().hex}
    return json.dumps(owner).encode()


def _in_use(place: str, owner: bytes) -> str:
    try:
        who = json.loads(owner)
        by = f"process {who['process']} on {who['host']}"
    except (ValueError, KeyError, TypeError):
        by = "another process"
    return (
        f"the store {place!r} is in use by {by}; wait for it, or use another store and then "
        "recallscope records merge"
    )
