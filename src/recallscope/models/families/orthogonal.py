"""Orthonormal embeddings: no two overlap, which takes a dimension for each token."""

from __future__ import annotations

import numpy as np

from recallscope.models.embeddings import Embeddings
from recallscope.models.families.sphere import sphere_rows
from recallscope.models.family import Dtype, Family, drawn_rows
from recallscope.problem import Problem
from recallscope.tasks.random import Role


def _draw(problem: Problem, seed: int, dtype: Dtype) -> Embeddings:
    # The model sees inner products alone, so any orthonormal set is as good as the axes.
    vocab, dim = problem.vocab, problem.dim
    return Embeddings(
        tokens=np.eye(vocab, dim, dtype=dtype),
        outputs=np.eye(vocab, dim, dtype=dtype),
        trigger=np.eye(1, dim, k=vocab, dtype=dtype)[0],
        end=drawn_rows(sphere_rows, 1, Role.END, problem, seed, dtype)[0],
    )


# The trigger needs a direction too.
PART = Family(draw=_draw, smallest_dim=lambda vocab: vocab + 1, closed_form="orthogonal")
