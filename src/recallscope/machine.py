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


def duration(seconds: float) -> str:
    """A time as people read it.

    >>> duration(0.42), duration(90), duration(5400), duration(10**6)
    ('0.4 s', '90 s', '90 min', '277.8 h')
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
