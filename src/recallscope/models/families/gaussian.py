"""Entries N(0, 1/d): directions as on the sphere, and lengths that vary."""

from __future__ import annotations

import math

import numpy as np

from recallscope.common.shapes import Float
from recallscope.models.family import Family, independent_rows
from recallscope.problem import Problem


def _rows(
    random: np.random.Generator, count: int, dim: int, problem: Problem
) -> Float[np.ndarray, "rows d"]:
    return random.standard_normal((count, dim)) / math.sqrt(dim)


PART = Family(draw=independent_rows(_rows), closed_form="gaussian")
