"""What reaches a terminal: names of others are shown, and never acted on."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, TextIO

from recallscope.common.formatting import printable

if TYPE_CHECKING:
    from rich.console import Console


class Guarded:
    """A stream that escapes whatever a terminal would act on, but for ends of lines and tabs.

    All that is printed passes here, since a name of others may be in any sentence.
    """

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        self.raw.write(printable_lines(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def printable_lines(text: str) -> str:
    r"""The same text, printable but for ends of lines, and tabs, by which shells complete.

    >>> printable_lines("a\n\tb\x1b[31m")
    'a\n\tb\\x1b[31m'
    """
    return re.sub(r"[^\n\t]+", lambda part: printable(part[0]), text)


def console(stderr: bool = False) -> Console:
    """A console for text that is printable; its own colours pass the guard, markup is text."""
    from rich.console import Console  # here: what is only asked for help does not wait for it

    stream = sys.stderr if stderr else sys.stdout
    raw = stream.raw if isinstance(stream, Guarded) else stream
    return Console(file=raw, markup=False, emoji=False, highlight=False)
