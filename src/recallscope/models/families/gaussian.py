"""Entries N(0, 1/d): directions as on the sphere, and lengths that vary."""

from __future__ import annotations

import math

import numpy as np

from recallscope.models.family import Family, Table, independent_rows
from recallscope.problem import Problem


def _rows(random: np.random.Generator, count: int, dim: int, problem: Problem) -> Table:
    return random.standard_normal((count, dim)) / math.sqrt(dim)


PART = Family(draw=independent_rows(_rows), closed_form="gaussian")
