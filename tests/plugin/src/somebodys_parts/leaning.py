"""An axis: embeddings that lean to one direction, by a field that can be varied and searched."""

from __future__ import annotations

import numpy as np

from recallscope import Family, Field, Problem
from recallscope.models.family import independent_rows


def rows(random: np.random.Generator, count: int, dim: int, problem: Problem) -> np.ndarray:
    drawn = random.standard_normal((count, dim)) / np.sqrt(dim)
    drawn[:, 0] += problem.lean
    return drawn


LEAN = Field(default=0.0, low=0.0, high=4.0, monotone=-1, scale="linear", help="How far rows lean.")
FAMILY = Family(draw=independent_rows(rows), fields={"lean": LEAN})
