"""The page, as text and as a file. It has code, style and data in one, and works from a disk."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from pathlib import Path

from recallscope import __version__
from recallscope.common.csv_files import check_output
from recallscope.common.errors import ProblemError
from recallscope.common.new_files import write_whole
from recallscope.explorer.colours import colour_variables
from recallscope.explorer.inline import inline
from recallscope.explorer.page_data import page_data

_MARK = b'<meta name="generator" content="recallscope '
_HEAD = 4096  # bytes to search for it


def page() -> str:
    """The whole page.

    >>> page().startswith("<!DOCTYPE html>")
    True
    """
    folder = files("recallscope.explorer").joinpath("page")
    script = inline(folder, "main.js")
    parts = {
        "colours": colour_variables(),
        "style": folder.joinpath("page.css").read_text(encoding="utf-8"),
        "version": __version__,
        # The browser runs no other script.
        "hash": f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
        "data": json.dumps(page_data(), separators=(",", ":"), allow_nan=False).replace(
            "</", "<\\/"
        ),
        "script": script,
    }
    made = folder.joinpath("page.html").read_text(encoding="utf-8")
    for name, text in parts.items():
        made = made.replace(f"@{name}@", text)
    return made


def write_page(path: str | Path) -> Path:
    """Write the page; an existing file is replaced only if it is such a page too."""
    to = check_output(path, "page", (".html",))
    if to.exists():
        with to.open("rb") as file:
            if _MARK not in file.read(_HEAD):
                raise ProblemError(
                    f"{str(to)!r:.200} exists already, and is not a page of recallscope; "
                    "name another with --to"
                )
    write_whole(to, "page", page())
    return to
