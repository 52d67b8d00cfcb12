"""Put the explorer into the site: its page is written to docs/explore.html when the site is built.

An extension of Python-Markdown that changes no text.
"""

from __future__ import annotations

import sys
from pathlib import Path

from markdown import Extension, Markdown

ROOT = Path(__file__).parents[1]


class _Nothing(Extension):
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Leave Markdown as it is."""


def makeExtension(**options: object) -> Extension:  # noqa: N802
    """What Markdown asks for."""
    sys.path.insert(0, str(ROOT / "src"))
    from recallscope.explorer.page import page

    target, made = ROOT / "docs" / "explore.html", page()
    # Written only if it has changed: a site that is served builds again at every change.
    if not target.exists() or target.read_text(encoding="utf-8") != made:
        target.write_text(made, encoding="utf-8")
    return _Nothing(**options)
