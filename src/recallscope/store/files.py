"""Whole files under short names: in a folder, or under an address of an object store.

A file appears complete or not at all, and is never changed. In a folder that takes a temporary
name, fsync, a rename and fsync of the folder. In an object store a put is atomic by itself, and a
rename is not.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from recallscope.common.new_files import create
from recallscope.problem import ProblemError

MOST_BYTES = 2**29  # of one file; what a store writes is far smaller
_PART = re.compile(r"\.[0-9a-f]{32}(\.parquet)?\.part")
_NOT_FOLLOWED = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class StoreError(ProblemError):
    """A store that cannot be read, written or locked: one sentence that says why."""


class ReadOnlyError(StoreError):
    """A store that may be readable, but that cannot be written to."""


class StoreWarning(UserWarning):
    """A store from which something was left out, or for which a command has to wait."""


class NotAFileError(Exception):
    """A name has no file that can be read: the message says what it is."""


class Files(Protocol):
    """The few things a store asks of the place where it is kept."""

    place: str

    def exists(self) -> bool:
        """Whether the place is there."""

    def names(self) -> list[str]:
        """The names of all files that are complete, sorted."""

    def read(self, name: str, most: int = MOST_BYTES) -> bytes:
        """All of a file; FileNotFoundError if it is missing, NotAFileError for anything else."""

    def write(self, name: str, content: bytes) -> None:
        """Make a file, whole and for good."""

    def rename(self, name: str, new: str) -> None:
        """Give a file another name; where that is not atomic, both may be seen for a while."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    def lock(self) -> AbstractContextManager[Callable[[], None]]:
        """A context in which no other process has the lock; `StoreError` if one has it.

        It gives a function that raises `StoreError` should the lock have been lost meanwhile.
        """


class Folder:
    """A folder of a file system."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = str(path)

    def exists(self) -> bool:
        """Whether there is such a folder."""
        try:
            return stat.S_ISDIR(self.path.stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise StoreError(f"the store {self.place!r} cannot be read: {error.strerror}") from None

    def names(self) -> list[str]:
        """Names of complete files; unfinished ones, and the lock, begin with a dot."""
        return sorted(path.name for path in self.path.iterdir() if path.name[0] != ".")

    def read(self, name: str, most: int = MOST_BYTES) -> bytes:
        """All of a file. Anything else, such as a folder or a pipe, is closed at once."""
        path = self.path / name
        try:
            file = os.open(path, os.O_RDONLY | _NOT_FOLLOWED)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR) or path.is_symlink():
                raise NotAFileError("a link or a device") from None
            raise
        try:
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode):
                raise NotAFileError("no regular file")
            if about.st_size > most:
                raise NotAFileError(f"larger than {most} bytes")
            with os.fdopen(file, "rb", closefd=False) as opened:
                return opened.read(most)
        finally:
            os.close(file)

    def write(self, name: str, content: bytes) -> None:
        """Write to a new file, flush to the disk, move into place, and flush that too."""
        part = self.path / f".{uuid.uuid4().hex}.part"
        try:
            with create(part) as file:
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
        if os.name == "nt":  # where a folder cannot be opened
            return
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @contextmanager
    def lock(self) -> Iterator[Callable[[], None]]:
        """A lock that the system takes back when its owner ends, however it ends."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.path / ".lock", mode=0o644, thread_local=False)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock.acquire(blocking=False)
        except Timeout:
            raise StoreError(in_use(self.place)) from None
        except (OSError, NotImplementedError) as error:
            read_only = getattr(error, "errno", None) in (errno.EROFS, errno.EACCES, errno.EPERM)
            raise (ReadOnlyError if read_only else StoreError)(
                f"the store {self.place!r} cannot be written to: "
                f"{getattr(error, 'strerror', None) or error}"
            ) from None
        try:
            for part in self.path.glob(".*.part"):
                if _PART.fullmatch(part.name):
                    part.unlink(missing_ok=True)  # what a killed owner of the lock left half done
            yield lambda: None
        finally:
            lock.release()


def in_use(place: str) -> str:
    """The message for the second process."""
    return (
        f"the store {place!r} is in use by another process; wait for it, or use another store and "
        "then recallscope records merge"
    )
