"""The interface of an embedding family: how frozen embeddings are drawn, and which formulas fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from recallscope.common.shapes import Float
from recallscope.problem.facts import inputs_of
from recallscope.problem.part import Part
from recallscope.problem.problem import Problem
from recallscope.task.random import Role, generator

if TYPE_CHECKING:
    from recallscope.problem.given_embeddings import Embeddings

_ROWS_AT_ONCE = 4096

Table = Float[np.ndarray, "rows d"]
Dtype = type[np.floating[Any]]


@dataclass(frozen=True)
class Family(Part):
    """A family of embeddings: it has `rows`, or for more than independent rows its own `draw`.

    Attributes:
        closed_form: which formulas are right for it, if any. Those of 'sphere' are for unit length
            and mean square overlap 1/d, and for 'gaussian' lengths vary too. Others are
            'orthogonal' and 'table', which is worked out from tables that are drawn.

    >>> @dataclass(frozen=True)
    ... class Uniform(Family):
    ...     name = "uniform"
    ...
    ...     def rows(self, random, count, dim):
    ...         return random.uniform(-1, 1, (count, dim)) * (3 / dim) ** 0.5
    >>> problem = Problem(vocab=64, samples=1, dim=16, length=4, embedding=Uniform())
    >>> problem.part("embedding").draw(problem, 0, np.float32).tokens.shape
    (64, 16)
    """

    kind_of_part = "embedding"
    closed_form: ClassVar[str | None] = None

    def rows(self, random: np.random.Generator, count: int, dim: int) -> Table:
        """So many rows of such a dimension, from a source of randomness."""
        raise NotImplementedError(f"the embedding {self.name} has neither rows nor draw")

    def draw(self, problem: Problem, seed: int, dtype: Dtype) -> Embeddings:
        """All embeddings of a problem; a pure function."""
        from recallscope.problem.given_embeddings import Embeddings

        def of(role: Role, count: int) -> Table:
            return drawn_rows(self.rows, count, role, problem, seed, dtype)

        tokens, outputs = of(Role.TOKENS, inputs_of(problem)), of(Role.OUTPUTS, problem.vocab)
        return Embeddings(tokens, outputs, of(Role.TRIGGER, 1)[0], of(Role.END, 1)[0])

    def smallest_dim(self, vocab: int) -> int:
        """The least dimension for so many tokens."""
        return 1


def drawn_rows(
    rows: Callable[[np.random.Generator, int, int], Table],
    count: int,
    role: Role,
    problem: Problem,
    seed: int,
    dtype: Dtype,
) -> Table:
    """Rows for one role, from a separate source of randomness."""
    return in_blocks(
        lambda random, size: rows(random, size, problem.dim),
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
