"""The explorer: one page that shows what the closed forms say, and why."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from recallscope.explorer.page import write_page


def explore(to: str | Path = "recallscope.html", *, open: bool = True) -> Path:
    """Write a page to play with the closed forms, and open it; returns where it is.

    It is one file that needs no server and no network: sliders for all sizes, the noises and the
    bottleneck, phase diagrams with measured points, and the three steps on small examples.

    Args:
        to: where to; a page that was written there before is replaced.
        open: whether to show it in the browser.

    Returns:
        The path of the page.

    Raises:
        ProblemError: a file of another kind is there, or it cannot be written there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     explore(f"{folder}/page.html", open=False).stat().st_size < 2_000_000
    True
    """
    path = write_page(to)
    if open:
        webbrowser.open(path.resolve().as_uri())
    return path
