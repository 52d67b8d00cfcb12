"""Uniform on the unit sphere."""

from __future__ import annotations

import numpy as np

from recallscope.models.family import Family, Table, independent_rows
from recallscope.problem import Problem


def sphere_rows(random: np.random.Generator, count: int, dim: int, problem: Problem) -> Table:
    """Rows of unit length, of uniform directions."""
    normal = random.standard_normal((count, dim))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return normal


PART = Family(draw=independent_rows(sphere_rows), closed_form="sphere")
