"""What this machine has."""

from __future__ import annotations

import math
import os


def machine_memory() -> float:
    """Bytes of memory in this machine, or infinity where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return math.inf


def gibibytes(size: float) -> str:
    """A number of bytes as people read it.

    >>> gibibytes(3 * 2**30)
    '3 GiB'
    """
    return f"{size / 2**30:.3g} GiB"
