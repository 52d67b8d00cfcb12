"""Embeddings with heavy tails: Student's t, scaled to a mean square length of one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from recallscope import Family, problem_field


@dataclass(frozen=True)
class StudentT(Family):
    degrees: float = problem_field(5.0, low=2.1, help="Degrees of freedom.")

    def rows(self, random: np.random.Generator, count: int, dim: int) -> np.ndarray:
        spread = math.sqrt(self.degrees / (self.degrees - 2))
        return random.standard_t(self.degrees, (count, dim)) / (spread * math.sqrt(dim))
