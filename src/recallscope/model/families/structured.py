"""Random embeddings with the structure that real tables have: mean, spectrum, clusters, lengths.

Rows have a squared length of 1 on average before the common mean is added. Each kind of structure
is a field; with all of them at 0 rows are Gaussian.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recallscope.common.errors import ProblemError
from recallscope.common.shapes import Float
from recallscope.model.families.sphere import sphere_rows
from recallscope.model.family import Dtype, Family, drawn_rows
from recallscope.problem.given_embeddings import Embeddings
from recallscope.problem.part import problem_field
from recallscope.problem.problem import Problem
from recallscope.task.random import Role, generator


@dataclass(frozen=True)
class Structured(Family):
    """Gaussian rows with a common mean, a spectrum, clusters, lengths, or tied outputs."""

    closed_form = "table"

    common_mean: float = problem_field(
        0.0, low=0.0, high=100.0, monotone=-1, scale="linear", help="Length of a mean of all rows."
    )
    spectrum: float = problem_field(
        0.0,
        low=0.0,
        high=8.0,
        monotone=-1,
        scale="linear",
        help="The exponent with which variances of directions fall.",
    )
    rank: int = problem_field(0, low=0, help="How many directions rows lie in; 0 for all.")
    clusters: int = problem_field(0, low=0, high=65536, help="How many clusters; 0 for none.")
    cluster_share: float = problem_field(
        0.5, low=0.0, high=0.999, scale="linear", help="The cluster's fraction of squared length."
    )
    length_spread: float = problem_field(
        0.0,
        low=0.0,
        high=2.0,
        monotone=-1,
        scale="linear",
        help="Standard deviation of the logarithm of lengths.",
    )
    tied: float = problem_field(
        0.0,
        low=0.0,
        high=1.0,
        scale="linear",
        help="Correlation of outputs with inputs; 1: the same.",
    )

    def check(self, problem: Problem) -> None:
        """Raise for a rank above the dimension."""
        if self.rank > problem.dim:
            raise ProblemError(f"rank must be at most dim={problem.dim}, not {self.rank}")

    def draw(self, problem: Problem, seed: int, dtype: Dtype) -> Embeddings:
        """Two tables with the structure, trigger and end on the sphere."""
        tokens, outputs = (self._rows(problem, role, seed) for role in (Role.TOKENS, Role.OUTPUTS))
        outputs = self.tied * tokens + np.sqrt(1 - self.tied**2) * outputs
        if self.common_mean:
            tokens, outputs = (
                rows + self.common_mean * _direction(problem, role, seed)
                for rows, role in ((tokens, Role.TOKENS), (outputs, Role.OUTPUTS))
            )
        trigger, end = (
            drawn_rows(sphere_rows, 1, role, problem, seed, np.float64)[0]
            for role in (Role.TRIGGER, Role.END)
        )
        return Embeddings(*(array.astype(dtype) for array in (tokens, outputs, trigger, end)))

    def _rows(self, problem: Problem, role: Role, seed: int) -> Float[np.ndarray, "V d"]:
        """A table without its common mean."""
        vocab, dim = problem.vocab, problem.dim
        rank = self.rank or dim
        random = generator(seed, role, vocab, dim)
        scale = np.zeros(dim)
        scale[:rank] = np.arange(1, rank + 1) ** (-self.spectrum / 2)
        scale /= np.linalg.norm(scale)
        rows = random.standard_normal((vocab, dim)) * scale
        if self.clusters:
            centres = random.standard_normal((self.clusters, dim)) * scale
            members = centres[random.integers(self.clusters, size=vocab)]
            rows = np.sqrt(self.cluster_share) * members + np.sqrt(1 - self.cluster_share) * rows
        if self.length_spread:
            normal = random.standard_normal((vocab, 1))
            rows *= np.exp(self.length_spread * normal - self.length_spread**2)
        return rows


def _direction(problem: Problem, role: Role, seed: int) -> Float[np.ndarray, "1 d"]:
    """The direction of the common mean, from a block of random numbers that rows do not use."""
    random = generator(seed, role, problem.vocab, problem.dim, block=1)
    return sphere_rows(random, 1, problem.dim)


PART = Structured()
