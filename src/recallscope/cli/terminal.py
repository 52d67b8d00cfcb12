"""What reaches a terminal: names of others are shown, and never acted on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

from recallscope.common.formatting import printable

if TYPE_CHECKING:
    from rich.console import Console


class Guarded:
    """A stream that escapes whatever a terminal would act on, but for the ends of lines.

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
    r"""The same text, each of its lines printable.

    >>> printable_lines("a\nb\x1b[31m")
    'a\nb\\x1b[31m'
    """
    return "\n".join(map(printable, text.split("\n")))


def console(stderr: bool = False) -> Console:
    """A console for text that is printable; its own colours pass the guard, markup is text."""
    from rich.console import Console  # here: what is only asked for help does not wait for it

    stream = sys.stderr if stderr else sys.stdout
    raw = stream.raw if isinstance(stream, Guarded) else stream
    return Console(file=raw, markup=False, emoji=False, highlight=False)
