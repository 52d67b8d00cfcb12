"""Embeddings drawn from the family that a problem names."""

from __future__ import annotations

from typing import Any

import numpy as np

from recallscope.common.errors import ProblemError
from recallscope.problem.facts import inputs_of
from recallscope.problem.given_embeddings import Embeddings
from recallscope.problem.problem import Problem


def draw_embeddings(
    problem: Problem, seed: int, dtype: type[np.floating[Any]] = np.float64
) -> Embeddings:
    """The embeddings of a problem's family, a pure function of the problem and the seed.

    >>> problem = Problem(vocab=64, samples=1, dim=16, length=4)
    >>> draw_embeddings(problem, seed=0).tokens.shape
    (64, 16)
    """
    drawn: Embeddings = problem.part("embedding").draw(problem, seed, dtype)
    if len(drawn.tokens) < (needed := inputs_of(problem)):
        raise ProblemError(
            f"{problem.embedding} embeddings have {len(drawn.tokens)} tokens, but the facts need "
            f"{needed}; choose sphere or gaussian, or fewer facts"
        )
    return drawn
