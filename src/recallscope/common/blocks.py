"""Long arrays taken block by block."""

from __future__ import annotations

from collections.abc import Iterator


def blocks(count: int, size: int) -> Iterator[slice]:
    """Ranges of so many rows each, the last one shorter if need be.

    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
