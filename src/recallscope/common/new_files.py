"""Files that are new, or whole: a file or link that others put in their place is never used."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from recallscope.common.errors import ProblemError


def create(path: Path) -> BinaryIO:
    """A new file for writing, which others may read; an error if anything has its name."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o644), "wb")


@contextmanager
def written_next_to(path: Path, what: str) -> Iterator[Path]:
    """A new file next to a path, moved there at the end: no half of it is ever seen.

    Its name cannot be guessed: a link under a name known beforehand would be followed.
    """
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        create(part).close()
        yield part
        part.replace(path)
    except OSError as error:
        raise ProblemError(f"the {what} was not written: {error}") from None
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: Path, what: str, content: str | bytes) -> None:
    """Write a file that appears whole or not at all."""
    with written_next_to(path, what) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)
