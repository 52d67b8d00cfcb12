"""JSON that somebody gives: its size and its depth are checked before it becomes objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from recallscope.parts.given_files import read_regular
from recallscope.problem import ProblemError

_MOST_PARTS = 4_000_000  # lists and dictionaries: each takes tens of bytes for two of text


def read_json(path: Path, what: str, most: int) -> dict[str, Any]:
    """The document of a file that has at most so many bytes."""
    return parse_json(read_regular(path, what, most), f"the {what} {str(path)!r:.200}")


def parse_json(content: bytes, called: str) -> dict[str, Any]:
    """A document that is a dictionary.

    >>> parse_json(b'{"a": 1}', "this")
    {'a': 1}
    """
    if content.count(b"[") + content.count(b"{") > _MOST_PARTS:
        raise ProblemError(f"{called} has more than {_MOST_PARTS} parts")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise ProblemError(f"{called} is no JSON: {why[:100]}") from None
    if not isinstance(found, dict):
        raise ProblemError(f"{called} is no dictionary")
    return found
