"""A progress bar in terminals and notebooks, for callers that give no function for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ProgressCallback = Callable[[float, float], None]
"""Called with (work done, work in all)."""

_PATIENCE = 2.0  # seconds before a bar is shown


@contextmanager
def shown_progress(progress: ProgressCallback | bool, what: str) -> Iterator[ProgressCallback]:
    """Return what to call as work is done: the given function, a new bar, or nothing if False.

    >>> with shown_progress(False, "runs") as update:
    ...     update(1, 2)
    """
    if progress is not True:
        yield progress or (lambda done, total: None)
        return
    from tqdm import tqdm  # type: ignore[import-untyped]

    with tqdm(
        total=1.0,
        desc=what,
        delay=_PATIENCE,
        leave=False,
        disable=not _is_watched(),
        bar_format="{desc}: {percentage:3.0f} %|{bar}| {elapsed}, about {remaining} left",
    ) as bar:

        def update(done: float, total: float) -> None:
            # Rounding must not take it beyond its end: tqdm would warn.
            bar.update(min(done / total if total else 1.0, 1.0) - bar.n)

        yield update


def _is_watched() -> bool:
    """Whether somebody sees what is written: in a terminal or a notebook, not in a log."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules
