"""Things by what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def grouped_by(things: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Those of each key, in the order in which they come.

    >>> grouped_by(["one", "three", "two"], len)
    {3: ['one', 'two'], 5: ['three']}
    """
    groups: dict[K, list[T]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return groups
