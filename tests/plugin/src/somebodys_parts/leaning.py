"""An axis: embeddings that lean to one direction, by a field that can be varied and searched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recallscope import Family, problem_field


@dataclass(frozen=True)
class Leaning(Family):
    lean: float = problem_field(
        0.0, low=0.0, high=4.0, monotone=-1, scale="linear", help="How far rows lean."
    )

    def rows(self, random: np.random.Generator, count: int, dim: int) -> np.ndarray:
        drawn = random.standard_normal((count, dim)) / np.sqrt(dim)
        drawn[:, 0] += self.lean
        return drawn
