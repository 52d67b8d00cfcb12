"""How many facts one gradient step stores on rows of a table, for rows of any width.

It is what `theory.table_facts` says, found with fewer memories and without their covariances, so
that an audit of rows of thousands of numbers does not wait for minutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from recallscope.theory.table_moments import TableMoments
from recallscope.theory.table_read import read_memory

if TYPE_CHECKING:
    from jaxtyping import Float

    Rows = Float[np.ndarray, "n d"]

_FEWEST = 2
_FINE = 1.25  # how much larger each memory that may be looked at is than the one before
_READS, _AT_ONCE = {2**19: 4096, 2**24: 1024, math.inf: 512}, 256
"""Reads of memories whose rows have fewer numbers than so many: of large ones fewer have to do."""

_MOST_MEMORIES = 128  # of one size


def one_step_facts(tokens: Rows, outputs: Rows, shares: Sequence[float]) -> dict[float, float]:
    """Facts by the share of them that is recalled; infinite where all rows are not too many.

    >>> rows = np.random.default_rng(0).standard_normal((2, 1024, 32))
    >>> [round(facts, -1) for facts in one_step_facts(*rows, shares=(0.5, 0.9)).values()]
    [100.0, 30.0]
    """
    most = len(tokens)
    steps = math.ceil(math.log(most / _FEWEST) / math.log(_FINE))
    sizes = np.unique(np.geomspace(_FEWEST, most, 2 + steps).round().astype(int)).tolist()

    @cache
    def recall(place: int) -> float:
        return _recall(tokens, outputs, sizes[place])

    return {share: _crossing(sizes, recall, share) for share in shares}


def _crossing(sizes: list[int], recall: Callable[[int], float], share: float) -> float:
    """Where recall, which falls with the number of facts, comes to a share."""
    low, high = 0, len(sizes) - 1
    if recall(high) > share:
        return math.inf
    if recall(low) < share:
        return float(sizes[low])
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if recall(middle) >= share else (low, middle)
    part = (recall(low) - share) / max(recall(low) - recall(high), 1e-12)
    return float(sizes[low] * (sizes[high] / sizes[low]) ** part)


def _recall(tokens: Rows, outputs: Rows, size: int) -> float:
    """The mean over some memories of so many facts."""
    random = np.random.default_rng([8, size])
    reads = min(size, _AT_ONCE)
    wanted = next(count for most, count in _READS.items() if size * tokens.shape[1] < most)
    found = []
    for _ in range(min(math.ceil(wanted / reads), _MOST_MEMORIES)):
        chosen = random.choice(len(tokens), size=size, replace=False)
        table = _moments(tokens[chosen], outputs[chosen])
        found.append(read_memory(table, math.inf, np.ones(size), np.zeros(size), reads, random))
    return float(np.mean(found))


def _moments(tokens: Rows, outputs: Rows) -> TableMoments:
    """What reading a memory needs of rows: no covariance."""
    mean = tokens.mean(axis=0)
    residual = outputs - outputs.mean(axis=0)
    none = np.empty(0)
    return TableMoments(
        tokens=tokens - mean,
        mean=mean,
        covariance=none,
        squares=none,
        overlaps=none,
        skew=none,
        outputs=residual,
        output_covariance=none,
        output_squares=np.square(residual).sum(axis=1),
    )
