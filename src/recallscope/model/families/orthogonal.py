"""Orthonormal embeddings: no two overlap, which takes a dimension for each token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recallscope.model.families.sphere import sphere_rows
from recallscope.model.family import Dtype, Family, drawn_rows
from recallscope.problem.given_embeddings import Embeddings
from recallscope.problem.problem import Problem
from recallscope.task.random import Role


@dataclass(frozen=True)
class Orthogonal(Family):
    """Tokens and trigger along the axes."""

    closed_form = "orthogonal"

    def smallest_dim(self, vocab: int) -> int:
        """One dimension for each token, and one for the trigger."""
        return vocab + 1

    def draw(self, problem: Problem, seed: int, dtype: Dtype) -> Embeddings:
        """The axes; the model sees inner products alone, so any orthonormal set is as good."""
        vocab, dim = problem.vocab, problem.dim
        return Embeddings(
            tokens=np.eye(vocab, dim, dtype=dtype),
            outputs=np.eye(vocab, dim, dtype=dtype),
            trigger=np.eye(1, dim, k=vocab, dtype=dtype)[0],
            end=drawn_rows(sphere_rows, 1, Role.END, problem, seed, dtype)[0],
        )


PART = Orthogonal()
