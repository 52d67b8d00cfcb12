"""Entries ±1/√d with equal probability: the corners of a cube of unit radius."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from recallscope.model.family import Family, Table


@dataclass(frozen=True)
class Rademacher(Family):
    """Independent signs."""

    closed_form = "sphere"

    def rows(self, random: np.random.Generator, count: int, dim: int) -> Table:
        """Rows of unit length."""
        return np.where(random.random((count, dim)) < 0.5, 1.0, -1.0) / math.sqrt(dim)


PART = Rademacher()
