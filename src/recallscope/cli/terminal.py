"""Output to a terminal: untrusted names are shown without their control characters."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, TextIO

from recallscope.common.formatting import printable

if TYPE_CHECKING:
    from rich.console import Console


class Guarded:
    """A stream that escapes control characters, except ends of lines and tabs.

    All output passes here, since any sentence may contain an untrusted name.
    """

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        self.raw.write(printable_lines(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def printable_lines(text: str) -> str:
    r"""The text with control characters escaped, except ends of lines and tabs (for shells).

    >>> printable_lines("a\n\tb\x1b[31m")
    'a\n\tb\\x1b[31m'
    """
    return re.sub(r"[^\n\t]+", lambda part: printable(part[0]), text)


def console(stderr: bool = False) -> Console:
    """A console for printable text; its colours pass the guard, and markup stays text."""
    from rich.console import Console  # here, since it would slow --help

    stream = sys.stderr if stderr else sys.stdout
    raw = stream.raw if isinstance(stream, Guarded) else stream
    return Console(file=raw, markup=False, emoji=False, highlight=False)
