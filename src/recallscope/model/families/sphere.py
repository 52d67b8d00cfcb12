"""Uniform on the unit sphere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recallscope.model.family import Family, Table


def sphere_rows(random: np.random.Generator, count: int, dim: int) -> Table:
    """Rows of unit length, of uniform directions."""
    normal = random.standard_normal((count, dim))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return normal


@dataclass(frozen=True)
class Sphere(Family):
    """Rows of unit length."""

    closed_form = "sphere"

    def rows(self, random: np.random.Generator, count: int, dim: int) -> Table:
        """Rows of unit length."""
        return sphere_rows(random, count, dim)


PART = Sphere()
