"""Put the explorer into the site: its page is written to site/explore.html when the site is built.

An extension of Python-Markdown that changes no text.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from markdown import Extension, Markdown

ROOT = Path(__file__).parents[1]


class _Nothing(Extension):
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Leave Markdown as it is."""


@cache
def _write() -> None:
    """Once for each build, not once for each page of it."""
    sys.path.insert(0, str(ROOT / "src"))
    from recallscope.explorer.page import page

    target = ROOT / "site" / "explore.html"
    target.parent.mkdir(exist_ok=True)
    target.write_text(page(), encoding="utf-8")


def makeExtension(**options: object) -> Extension:  # noqa: N802
    """What Markdown asks for."""
    _write()
    return _Nothing(**options)
