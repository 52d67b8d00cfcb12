"""Embeddings with heavy tails: Student's t, scaled to a mean square length of one."""

from __future__ import annotations

import math

import numpy as np

from recallscope.models.family import Family, independent_rows
from recallscope.parts.field import Field
from recallscope.problem import Problem


def rows(random: np.random.Generator, count: int, dim: int, problem: Problem) -> np.ndarray:
    spread = math.sqrt(problem.degrees / (problem.degrees - 2))
    return random.standard_t(problem.degrees, (count, dim)) / (spread * math.sqrt(dim))


FAMILY = Family(
    draw=independent_rows(rows),
    fields={"degrees": Field(default=5.0, low=2.1, help="Degrees of freedom.")},
)
