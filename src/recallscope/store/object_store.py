"""Files of a store in an object store: under s3://, gs:// and other addresses of fsspec."""

from __future__ import annotations

import json
import os
import re
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from recallscope.common.extras import missing
from recallscope.store import files
from recallscope.store.files import ReadOnlyError, StoreError

_BEAT = 5.0  # seconds between signs of life of a lock in an object store
_BEATS_MISSED = 3  # after which its owner is taken for dead


class ObjectStore:
    """An address that fsspec can open."""

    def __init__(self, address: str) -> None:
        try:
            import fsspec
        except ImportError:
            raise StoreError(missing("fsspec")) from None
        self.place = address.rstrip("/")
        try:
            self._system, self._root = fsspec.core.url_to_fs(self.place)
        except Exception as error:  # each kind of address has another one
            why = " ".join(str(error).split()) or type(error).__name__
            raise StoreError(f"the store {address!r} cannot be reached: {why}") from None

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

    def read(self, name: str, most: int = files.MOST_BYTES) -> bytes:
        """All of an object."""
        with self._can_be("read"):
            size = self._system.size(f"{self._root}/{name}")
        if size is not None and size > most:
            raise files.NotAFileError(f"larger than {most} bytes")
        with self._can_be("read"):
            content: bytes = self._system.cat_file(f"{self._root}/{name}")
        return content

    def write(self, name: str, content: bytes) -> None:
        """One put, or several parts that become an object with the last request."""
        with self._can_be("written to"):
            self._system.pipe_file(f"{self._root}/{name}", content)

    def rename(self, name: str, new: str) -> None:
        """Put a copy, then remove the first."""
        with self._can_be("written to"):
            self._system.mv(f"{self._root}/{name}", f"{self._root}/{new}")

    def remove(self, name: str) -> None:
        """Remove an object, if it is there."""
        with suppress(FileNotFoundError), self._can_be("written to"):
            self._system.rm_file(f"{self._root}/{name}")

    @contextmanager
    def lock(self) -> Iterator[Callable[[], None]]:
        """A lock made of puts and listings alone.

        Each driver puts one object and then looks for others. Of two that come at the same time at
        least one sees the other and gives way. The object is put again every few seconds; one that
        does not change while a newcomer watches belongs to a dead driver. No clock is compared with
        another.

        A driver that only stood still finds its object gone. If it has put it once more when it
        woke up, its clock says that it was late, and it gives way to others.
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
                    f"the store {self.place!r} gave its lock to another process, as this one did "
                    "not renew it for too long; run the same command again"
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
            self._break_stale_locks(own)
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

    def _break_stale_locks(self, own: str) -> None:
        """Wait for a sign of life of other locks; remove them if none comes."""
        first = self._others(own)
        if not first:
            return
        started, said = time.monotonic(), False
        while (waited := time.monotonic() - started) < _BEAT * _BEATS_MISSED:
            time.sleep(_BEAT / 5)
            for name, content in self._others(own).items():
                if first.get(name) != content:
                    raise StoreError(files.in_use(self.place))
            if (
                waited > 1.2 * _BEAT and not said
            ):  # every live driver has put its object again by now
                said = True
                warnings.warn(
                    f"the store {self.place!r} has a lock; waiting {_BEAT * _BEATS_MISSED:.0f} s "
                    "to see whether its owner still runs",
                    files.StoreWarning,
                    stacklevel=2,
                )
        for name in first:
            self.remove(name)

    @contextmanager
    def _can_be(self, done: str) -> Iterator[None]:
        """Clients of object stores have different exceptions: all become a `StoreError`."""
        try:
            yield
        except FileNotFoundError:
            raise
        except Exception as error:
            why = " ".join(str(error).split())
            if not why or not isinstance(error, OSError):
                why = f"{type(error).__name__}: {why}"
            read_only = isinstance(error, PermissionError) and done == "written to"
            raise (ReadOnlyError if read_only else StoreError)(
                f"the store {self.place!r} cannot be {done}: {why}"
            ) from None


def files_at(place: str | Path) -> files.Files:
    """The files of a folder, or of an address such as s3://bucket/folder."""
    place = str(place).removeprefix("file://")
    if not place:
        raise StoreError("a store needs a place: a folder, or an address such as s3://bucket/facts")
    if "\0" in place:
        raise StoreError(f"a store cannot be at {place!r}")
    if re.match(r"[a-z][a-z0-9+.-]+:/*$|[a-z][a-z0-9+.-]+:/[^/]", place):
        raise StoreError(
            f"a store cannot be at {place!r:.200}, which is half an address; give a whole one as "
            "text, such as s3://bucket/facts, or a folder"
        )
    if "://" not in place:
        return files.Folder(Path(place))
    return ObjectStore(place)


def _owner() -> bytes:
    """Different each time: a change of it is a sign of life."""
    return json.dumps({"process": os.getpid(), "beat": uuid.uuid4().hex}).encode()
