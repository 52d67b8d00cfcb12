"""How many dimensions the cone of a label lacks, among V outputs in d dimensions: K_d(V).

The scores that name a label form a cone. Among independent scores it lacks K(V) dimensions
(`label_pool.pool`). The scores of V outputs in d < V − 1 dimensions are not independent. Their
cones are wider: the fewer dimensions, the fewer are lacking. The fraction that is left was computed
for random outputs (the study memories) and depends on K(V) (1/d − 1/(V − 1)) and little else.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache

import numpy as np

from recallscope.theory.label_pool import pool
from recallscope.theory.recorded_error import recorded


@lru_cache(maxsize=4096)
def cone(vocab: float, dim: float) -> float:
    """K_d(V) for random outputs.

    >>> [round(cone(64, dim), 2) for dim in (8, 16, 40)], round(pool(64).mean, 2)
    ([3.59, 4.0, 4.15], 4.2)
    """
    mean = pool(vocab).mean
    crowding = mean * (1 / dim - 1 / max(vocab - 1, 1))
    if crowding <= 0:
        return mean
    known = _vocabs()
    place = np.interp(
        math.log(vocab), [math.log(known_vocab) for known_vocab in known], range(len(known))
    )
    low, high = math.floor(place), math.ceil(place)
    left = [np.interp(crowding, *_row(known[index])[1:]) for index in (low, high)]
    return min(mean * float(left[0] + (place - low) * (left[1] - left[0])), float(dim))


def cone_rows() -> list[tuple[int, np.ndarray, np.ndarray]]:
    """For each V, how crowded outputs are and the fraction of K(V) that is left.

    With V − 1 dimensions or more they are not crowded.
    """
    return [_row(vocab) for vocab in _vocabs()]


@cache
def _vocabs() -> list[int]:
    return list(dict.fromkeys(map(int, recorded("output_cones.csv")["vocab"])))


@cache
def _row(vocab: int) -> tuple[int, np.ndarray, np.ndarray]:
    table = recorded("output_cones.csv")
    mine = table["vocab"] == vocab
    order = np.argsort(-table["dim"][mine])
    dims, lacking = (table[name][mine][order] for name in ("dim", "cone"))
    mean = pool(vocab).mean
    crowding = np.append(0.0, mean * (1 / dims - 1 / (vocab - 1)))
    return vocab, crowding, np.append(1.0, np.minimum(lacking / mean, 1))
