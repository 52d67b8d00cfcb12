"""Entries ±1/√d with equal probability: the corners of a cube of unit radius."""

from __future__ import annotations

import math

import numpy as np

from recallscope.models.family import Family, Table, independent_rows
from recallscope.problem import Problem


def _rows(random: np.random.Generator, count: int, dim: int, problem: Problem) -> Table:
    return np.where(random.random((count, dim)) < 0.5, 1.0, -1.0) / math.sqrt(dim)


PART = Family(draw=independent_rows(_rows), closed_form="sphere")
