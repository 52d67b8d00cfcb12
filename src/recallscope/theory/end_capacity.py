"""Where a memory is full: how many parameters a number of facts needs without error.

Derived in docs/end-of-training.md. A fact is stored if its label scores above all rivals: its
scores lie in a cone. The scores that parameters can make are a subspace. It reaches into all cones
at once if it has more dimensions than the cones lack.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.special import ndtr  # type: ignore[import-untyped]

from recallscope.theory.label_pool import pool
from recallscope.theory.output_cone import cone


class Edge(NamedTuple):
    """Parameters with which half of all memories store every fact, and the spread around it.

    `independent` is where it would be if all scores were.
    """

    parameters: float
    spread: float
    independent: float

    def share_that_hold(self, parameters: float) -> float:
        """The fraction of all memories with so many parameters that store every fact.

        >>> [round(edge(256, 256, dim).share_that_hold(dim**2), 2) for dim in (36, 38, 40)]
        [0.0, 0.12, 0.99]
        """
        return float(ndtr((parameters - self.parameters) / self.spread))


def edge(vocab: float, facts: float, dim: float) -> Edge:
    """Where a memory of some facts is full, each with one of V labels in R^d.

    >>> [round(edge(4096, facts, 200).parameters / 200) for facts in (4096, 2048)]
    [207, 103]
    """
    mean, variance = pool(vocab)
    lacking = cone(vocab, dim)
    return Edge(
        parameters=facts * lacking,
        spread=lacking / mean * math.sqrt(facts * variance),
        independent=facts * mean,
    )
