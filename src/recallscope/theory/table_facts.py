"""How many facts a memory stores, if keys and labels are rows of an embedding matrix.

Attention is at the trigger, and every fact is seen equally often: only overlaps of rows are left.
One gradient step stores each fact as the product of its two rows, so overlaps decide. Some such
memories are made of the rows, and read. Training to the end undoes most of what overlaps do, and
dimensions decide, as in docs/end-of-training.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from recallscope.theory.end_capacity import edge
from recallscope.theory.memory_recall import equally_often, memory_recall
from recallscope.theory.output_lengths import cost_of_lengths

if TYPE_CHECKING:
    from recallscope.theory.table_moments import Rows

SHARES = (0.5, 0.9, 0.99)
_FEWEST, _MOST_ROWS = 2, 32768
_READS, _AT_ONCE = {2**16: 8192, 2**19: 4096, 2**24: 1024, math.inf: 512}, 256
"""The number of reads, by the most numbers in the rows: large memories get fewer reads."""

_MOST_MEMORIES = 512  # of one size
_FINE = 1.25  # the factor between the sizes of memories that may be tried
_SAME = 1.01  # the factor between numbers of facts that count as the same
_AROUND = 1.6  # times the capacity threshold, or less by as much
_TURNS = 8
_TURNS_OF_LENGTHS = 4


def first_gradient_facts(tokens: Rows, outputs: Rows) -> dict[float, float]:
    """How many facts, between random rows, one gradient step may store, by the recalled fraction.

    Infinite where this fraction is recalled even of facts about all rows, or about 32,768 of them.

    >>> rows = np.random.default_rng(0).standard_normal((2, 1024, 32))
    >>> capacity = first_gradient_facts(*rows)
    >>> [round(capacity[share], -1) for share in (0.5, 0.9)]
    [100.0, 30.0]
    """
    most = min(len(tokens), _MOST_ROWS)
    sizes = np.unique(np.geomspace(_FEWEST, most, 2 + _steps(most)).round().astype(int)).tolist()

    @cache
    def recall(place: int) -> float:
        return _first_gradient_recall(tokens, outputs, sizes[place])

    return {share: _crossing(sizes, recall, share) for share in SHARES}


def _steps(most: int) -> int:
    return math.ceil(math.log(most / _FEWEST) / math.log(_FINE))


def _crossing(sizes: Sequence[int], recall: Callable[[int], float], share: float) -> float:
    """Where recall, which falls with the number of facts, reaches a value."""
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


def _first_gradient_recall(tokens: Rows, outputs: Rows, size: int) -> float:
    """The fraction recalled by some memories of so many facts, worked out without approximation.

    Every fact adds the product of its two rows, and without samples nothing else is random.
    """
    random = np.random.default_rng([8, size])
    reads = min(size, _AT_ONCE)
    wanted = next(count for most, count in _READS.items() if size * tokens.shape[1] < most)
    right, memories = 0, min(math.ceil(wanted / reads), _MOST_MEMORIES)
    for _ in range(memories):
        chosen = random.choice(len(tokens), size=size, replace=False)
        keys, labels = tokens[chosen], outputs[chosen] - outputs[chosen].mean(axis=0)
        label_of = random.permutation(size)
        tested = random.choice(size, size=reads, replace=False)
        read = labels[label_of].T @ (keys @ keys[tested].T)
        right += int(((labels @ read).argmax(axis=0) == label_of[tested]).sum())
    return right / (memories * reads)


@lru_cache
def most_trained(inputs: float, outputs: float, share: float) -> float:
    """How many facts the minimum of the loss of a memory of so many dimensions stores.

    They are looked for near the capacity threshold, at which recall falls from all to a fraction.

    >>> round(most_trained(32, 32, 0.99))
    179
    """
    parameters = inputs * outputs
    at_edge = float(parameters)
    for _ in range(_TURNS):  # facts that parameters suffice for change little with their number
        at_edge *= parameters / edge(max(round(at_edge), _FEWEST), at_edge, outputs).parameters
    low, high = at_edge / _AROUND, at_edge * _AROUND
    while high > low * _SAME:
        middle = math.sqrt(low * high)
        facts = max(round(middle), _FEWEST)
        held = _trained_recall(facts, parameters, outputs, share) >= share
        low, high = (middle, high) if held else (low, middle)
    return low


def trained_facts(
    inputs: int, outputs: int, lengths: np.ndarray | None = None
) -> dict[float, float]:
    """The same for rows that span so many dimensions, and outputs of such lengths once whitened.

    >>> round(trained_facts(32, 32)[0.99])
    179
    """
    held = {share: most_trained(inputs, outputs, share) for share in SHARES}
    if lengths is None:
        return held
    most, cost = max(held.values()), 1.0
    for _ in range(_TURNS_OF_LENGTHS):  # with fewer labels, fewer are much longer
        cost = cost_of_lengths(lengths, max(most / cost, outputs + 2), outputs)
    return {share: facts / cost for share, facts in held.items()}


def _trained_recall(facts: int, parameters: float, outputs: float, enough: float) -> float:
    """Recall at the end of training, or a lower bound of it that is enough and found at once."""
    whole = edge(facts, facts, outputs).share_that_hold(parameters)
    return whole if whole >= enough else _recall_below(facts, parameters, outputs)


@lru_cache
def _recall_below(facts: int, parameters: float, outputs: float) -> float:
    return memory_recall(facts, parameters, equally_often(facts), outputs)
