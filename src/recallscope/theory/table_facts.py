"""How many facts a memory holds whose keys and labels are rows of a table of embeddings.

Attention looks at the mark, and every fact is seen equally often: what is left are rows that
overlap. One gradient step stores each fact as the product of its two rows, so that overlaps decide,
as in docs/tables.md. Training to the end undoes most of them, and dimensions decide, as in
docs/end-of-training.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from recallscope.theory.memory_edge import edge
from recallscope.theory.memory_recall import equally_often, memory_recall
from recallscope.theory.table_moments import table_moments
from recallscope.theory.table_read import read_memory

if TYPE_CHECKING:
    from recallscope.theory.table_moments import Rows

SHARES = (0.5, 0.9, 0.99)
_FEWEST, _MOST_ROWS = 2, 32768
_READS, _READS_AT_ONCE = 1024, 256
_FINE = 1.25  # how much larger each memory is than the one before
_SAME = 1.01  # numbers of facts that need not be told apart
_AROUND = 1.6  # times the edge, or less by as much
_TURNS = 8


def one_step_facts(
    tokens: Rows, outputs: Rows, shares: Sequence[float] = SHARES
) -> dict[float, float]:
    """How many facts, between rows chosen at random, one gradient step stores so that a share of
    them is recalled; infinite where even all rows, or 32,768 of them, are.

    >>> rows = np.random.default_rng(0).standard_normal((2, 1024, 32))
    >>> found = one_step_facts(*rows)
    >>> [round(found[share], -1) for share in (0.5, 0.9)]
    [100.0, 30.0]
    """
    random = np.random.default_rng(0)
    most = min(len(tokens), _MOST_ROWS)
    sizes = np.unique(np.geomspace(_FEWEST, most, 2 + _steps(most)).round().astype(int))
    recalls: list[float] = []
    for size in sizes:
        recalls.append(_one_step_recall(tokens, outputs, int(size), random))
        if recalls[-1] < min(shares) / 2:
            break
    falling = np.minimum.accumulate(recalls)
    return {share: _crossing(sizes[: len(falling)], falling, share) for share in shares}


def trained_facts(
    tokens: Rows, outputs: Rows, shares: Sequence[float] = SHARES
) -> dict[float, float]:
    """How many facts the minimum of the loss holds so that a share of them is recalled.

    It is the law of random embeddings, for as many parameters as rows have dimensions: a trained
    memory follows the dimensions that rows span, and not how much they overlap.

    >>> rows = np.random.default_rng(0).standard_normal((2, 1024, 32))
    >>> {share: round(facts) for share, facts in trained_facts(*rows, shares=[0.99]).items()}
    {0.99: 183}
    """
    parameters = math.prod(_rank(rows) for rows in (tokens, outputs))
    return {share: _most_trained(parameters, share) for share in shares}


def _steps(most: int) -> int:
    return math.ceil(math.log(most / _FEWEST) / math.log(_FINE))


def _one_step_recall(tokens: Rows, outputs: Rows, size: int, random: np.random.Generator) -> float:
    """The mean over some memories of so many facts, of enough reads in all."""
    reads = min(size, _READS_AT_ONCE)
    found = []
    for _ in range(math.ceil(_READS / reads)):
        chosen = random.choice(len(tokens), size=size, replace=False)
        table = table_moments(tokens[chosen], outputs[chosen])
        found.append(read_memory(table, math.inf, np.ones(size), np.zeros(size), reads, random))
    return float(np.mean(found))


def _crossing(sizes: np.ndarray, recalls: np.ndarray, share: float) -> float:
    """Where a falling curve comes to a share, by straight lines over the logarithm of sizes."""
    if recalls[-1] > share:
        return math.inf
    if recalls[0] < share:
        return float(sizes[0])
    return float(np.exp(np.interp(-share, -recalls, np.log(sizes))))


def _rank(rows: Rows) -> int:
    """How many directions rows have."""
    rows = np.asarray(rows, dtype=np.float64)
    gram = rows.T @ rows
    return int(np.linalg.matrix_rank(gram, hermitian=True))


def _most_trained(parameters: float, share: float) -> float:
    """Near the edge, at which recall falls from all to a fraction, the number of facts."""
    at_edge = float(parameters)
    for _ in range(_TURNS):  # facts that parameters suffice for change little with their number
        at_edge *= parameters / edge(max(round(at_edge), _FEWEST), at_edge).parameters
    low, high = at_edge / _AROUND, at_edge * _AROUND
    while high > low * _SAME:
        middle = math.sqrt(low * high)
        facts = max(round(middle), _FEWEST)
        held = memory_recall(facts, parameters, equally_often(facts)) >= share
        low, high = (middle, high) if held else (low, middle)
    return low
