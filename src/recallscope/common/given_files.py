"""Files that somebody gives: regular ones only, and no more of them than is expected.

The size of JSON is checked before it becomes objects.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from recallscope.common.errors import ProblemError

_MOST_PARTS = 4_000_000  # lists and dictionaries: each takes tens of bytes for two of text


def open_regular(path: str | Path) -> BinaryIO:
    """A regular file, or a link to one, open for reading; anything else is an OSError.

    A pipe would be waited for, and a device could be read for ever.
    """
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return os.fdopen(file, "rb")


@contextmanager
def opened(path: str | Path, called: str) -> Iterator[BinaryIO]:
    """The same; an error of the system becomes a sentence about what the file is called."""
    try:
        with open_regular(path) as file:
            yield file
    except ProblemError:
        raise
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ProblemError(f"{called} cannot be read: {why}") from None


def read_regular(path: str | Path, what: str, most: int) -> bytes:
    """All of a file that has at most so many bytes, whatever it claims to have."""
    called = f"the {what} {str(path)!r:.200}"
    with opened(path, called) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ProblemError(f"{called} is larger than {most / 2**20:g} MiB; cut it into several")
    return content


def read_json(path: Path, what: str, most: int) -> dict[str, Any]:
    """The document, a dictionary, of a file that has at most so many bytes."""
    content, called = read_regular(path, what, most), f"the {what} {str(path)!r:.200}"
    if content.count(b"[") + content.count(b"{") > _MOST_PARTS:
        raise ProblemError(f"{called} has more than {_MOST_PARTS} parts")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise ProblemError(f"{called} is no JSON: {why[:100]}") from None
    if not isinstance(document, dict):
        raise ProblemError(f"{called} is no dictionary")
    return document
