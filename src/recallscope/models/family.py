"""The interface of an embedding family: how frozen embeddings are drawn, and which formulas fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from recallscope.common.shapes import Float
from recallscope.parts.field import Field
from recallscope.problem import Problem, no_check
from recallscope.tasks.kind import inputs_of
from recallscope.tasks.random import Role, generator

if TYPE_CHECKING:
    from recallscope.models.embeddings import Embeddings

_ROWS_AT_ONCE = 4096

Table = Float[np.ndarray, "rows d"]
Dtype = type[np.floating[Any]]
Rows = Callable[[np.random.Generator, int, int, Problem], Table]
"""From a source of randomness: so many rows of such a dimension, for a problem."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """A family of embeddings.

    Attributes:
        draw: from a problem, a seed and a dtype to embeddings; a pure function. `independent_rows`
            makes one from a function that draws rows.
        fields: what it adds to problems.
        smallest_dim: the least dimension for so many tokens.
        check: raises `ProblemError` for a problem that it cannot serve for another reason.
        closed_form: which formulas are right for it, if any. Those of 'sphere' are for unit length
            and mean square overlap 1/d, and for 'gaussian' lengths vary too. Others are
            'orthogonal' and 'table', which is worked out from tables that are drawn.
        name: needed only if it is passed as an object.
        version: raised when the same problem and seed give another record; part of record keys. Of
            an object it replaces the hash of its source.
    """

    draw: Callable[[Problem, int, type[np.floating[Any]]], Embeddings]
    fields: Mapping[str, Field] = field(default_factory=dict)
    smallest_dim: Callable[[int], int] = lambda vocab: 1
    check: Callable[[Problem], None] = no_check
    closed_form: str | None = None
    name: str = ""
    version: int | None = None


def independent_rows(rows: Rows) -> Callable[[Problem, int, Dtype], Embeddings]:
    """How to draw embeddings with independent rows of one law.

    >>> def uniform(random, count, dim, problem):
    ...     return random.uniform(-1, 1, (count, dim)) * (3 / dim) ** 0.5
    >>> draw = independent_rows(uniform)
    >>> draw(Problem(vocab=64, samples=1, dim=16, length=4), 0, np.float32).tokens.shape
    (64, 16)
    """

    def draw(problem: Problem, seed: int, dtype: Dtype) -> Embeddings:
        from recallscope.models.embeddings import Embeddings

        def of(role: Role, count: int) -> Table:
            return drawn_rows(rows, count, role, problem, seed, dtype)

        tokens, outputs = of(Role.TOKENS, inputs_of(problem)), of(Role.OUTPUTS, problem.vocab)
        return Embeddings(tokens, outputs, of(Role.TRIGGER, 1)[0], of(Role.END, 1)[0])

    return draw


def drawn_rows(
    rows: Rows, count: int, role: Role, problem: Problem, seed: int, dtype: Dtype
) -> Table:
    """Rows for one role, from a separate source of randomness."""
    return in_blocks(
        lambda random, size: rows(random, size, problem.dim, problem),
        (count, problem.dim),
        lambda block: generator(seed, role, problem.vocab, problem.dim, block=block),
        dtype,
    )


def in_blocks(
    draw: Callable[[np.random.Generator, int], Table],
    shape: tuple[int, int],
    source: Callable[[int], np.random.Generator],
    dtype: Dtype,
) -> Table:
    """Rows drawn block by block: float32 rows need no float64 copy of the whole."""
    out = np.empty(shape, dtype=dtype)
    for block, start in enumerate(range(0, shape[0], _ROWS_AT_ONCE)):
        part = out[start : start + _ROWS_AT_ONCE]
        part[:] = draw(source(block), len(part))
    return out


def draw_hidden_weights(width: int, dim: int, seed: int, dtype: Dtype = np.float64) -> Table:
    """The frozen input weights of the MLP, rows N(0, I_d): a unit token gives N(0, 1) inputs."""
    return in_blocks(
        lambda random, rows: random.standard_normal((rows, dim)),
        (width, dim),
        lambda block: generator(seed, Role.HIDDEN, width, dim, block=block),
        dtype,
    )
