"""Entries N(0, 1/d): directions as on the sphere, and lengths that vary."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from recallscope.model.family import Family, Table


@dataclass(frozen=True)
class Gaussian(Family):
    """Independent entries N(0, 1/d)."""

    closed_form = "gaussian"

    def rows(self, random: np.random.Generator, count: int, dim: int) -> Table:
        """Rows of a mean squared length of 1."""
        return random.standard_normal((count, dim)) / math.sqrt(dim)


PART = Gaussian()
