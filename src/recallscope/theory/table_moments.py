"""The moments of an embedding matrix that theory needs: means, spectra and lengths.

Centred rows are rows minus the mean of all. Everything is made of d×d matrices and one pass over
the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recallscope.common.shapes import Float

Matrix = Float[np.ndarray, "d d"]
Rows = Float[np.ndarray, "V d"]
Numbers = Float[np.ndarray, " V"]


@dataclass(frozen=True, kw_only=True)
class TableMoments:
    """Moments of token rows z and output rows u; z̃ and q are these rows minus their means.

    Matrices are worked out when they are first asked for: reading a memory takes none.

    Attributes:
        tokens: the rows z̃.
        mean: of the rows z.
        outputs: the rows q.
    """

    tokens: Rows
    mean: Float[np.ndarray, " d"]
    outputs: Rows

    @property
    def vocab(self) -> int:
        """How many rows."""
        return len(self.tokens)

    @property
    def dim(self) -> int:
        """How many numbers each row has."""
        return self.tokens.shape[1]

    @cached_property
    def covariance(self) -> Matrix:
        """E z̃ z̃ᵀ."""
        return self.tokens.T @ self.tokens / self.vocab

    @cached_property
    def squares(self) -> Numbers:
        """The squared length of each z̃."""
        return np.square(self.tokens).sum(axis=1)

    @cached_property
    def overlaps(self) -> Numbers:
        """z̃ᵀ E[z̃ z̃ᵀ] z̃ of each: its mean squared overlap with all rows, itself included."""
        return np.einsum("vd,vd->v", self.tokens @ self.covariance, self.tokens)

    @cached_property
    def skew(self) -> Float[np.ndarray, " d"]:
        """E z̃ |z̃|²: rows that are longer than others point somewhere."""
        return self.squares @ self.tokens / self.vocab

    @cached_property
    def output_covariance(self) -> Matrix:
        """E q qᵀ."""
        return self.outputs.T @ self.outputs / len(self.outputs)

    @cached_property
    def output_squares(self) -> Numbers:
        """The squared length of each q."""
        return np.square(self.outputs).sum(axis=1)


def table_moments(tokens: Rows, outputs: Rows) -> TableMoments:
    """The moments of a table.

    >>> rng = np.random.default_rng(0)
    >>> moments = table_moments(rng.standard_normal((512, 8)) + 3, rng.standard_normal((512, 8)))
    >>> moments.mean.round(), moments.covariance.trace().round()
    (array([3., 3., 3., 3., 3., 3., 3., 3.]), np.float64(8.0))
    """
    tokens, outputs = (np.asarray(rows, dtype=np.float64) for rows in (tokens, outputs))
    mean = tokens.mean(axis=0)
    return TableMoments(tokens=tokens - mean, mean=mean, outputs=outputs - outputs.mean(axis=0))


def effective_dim(rows: Rows, *, centred: bool) -> float:
    """One over the mean squared cosine of two different rows; as many dimensions as it seems.

    Random directions in d dimensions give d. A common mean or a steep spectrum makes it small, and
    a memory of one step has the interference of so many random dimensions. Rows of length 0 have
    no direction and are left out.

    >>> rows = np.random.default_rng(0).standard_normal((4000, 32))
    >>> round(effective_dim(rows, centred=False)), round(effective_dim(rows + 1, centred=False))
    (32, 4)
    """
    rows = np.asarray(rows, dtype=np.float64)
    if centred:
        rows = rows - rows.mean(axis=0)
    lengths = np.linalg.norm(rows, axis=1)
    unit = rows[lengths > 0] / lengths[lengths > 0, None]
    count = len(unit)
    cosines = (np.square(unit.T @ unit).sum() - count) / (count * (count - 1))
    return float(1 / cosines) if cosines > 0 else float(rows.shape[1])
