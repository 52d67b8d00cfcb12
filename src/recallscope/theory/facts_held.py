"""How many facts one matrix between given embeddings stores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recallscope.common.errors import ProblemError
from recallscope.common.plain import Plain
from recallscope.common.shapes import Float
from recallscope.theory.choosing import law_named
from recallscope.theory.output_lengths import whitened
from recallscope.theory.table_facts import first_gradient_facts, trained_facts
from recallscope.theory.tested_range import beyond

MOST_ROWS = 8192
_ROUNDING = 1e-6  # variances below this part of the largest are rounding errors


@dataclass(frozen=True, kw_only=True)
class FactsHeld(Plain):
    """Facts that one matrix between embeddings stores, by the fraction of them that is recalled.

    Attributes:
        first_gradient: after one gradient step; infinite where more fit than there are embeddings.
        trained: at the end of training.
        extrapolated: in words, if the law of the end of training was not tested at their dimension.

    >>> capacity = facts_held(np.random.default_rng(0).standard_normal((256, 16)))
    >>> capacity.first_gradient[0.9] < capacity.trained[0.9] < 16**2, capacity.extrapolated
    (True, None)
    """

    first_gradient: dict[float, float]
    trained: dict[float, float]
    extrapolated: str | None


def facts_held(
    tokens: Float[np.ndarray, "V d"], outputs: Float[np.ndarray, "V d"] | None = None
) -> FactsHeld:
    """How many facts a matrix stores whose inputs and outputs are given embeddings.

    A fact is a pair of rows, one of `tokens` and one of `outputs`: asked for the first, the matrix
    is to answer with the second. The embeddings stay as they are. One gradient step stores a fact
    as the product of its rows, so overlaps disturb: memories of these rows are made and read.
    Training removes most of that, and the dimensions that the rows span decide: the law of the end
    of training, which was derived for random rows.

    Args:
        tokens: an embedding for each token, at most 8,192; of more, take a random sample.
        outputs: one for each label; those of the tokens if None.

    Returns:
        The numbers of facts of which 50, 90 and 99 % are recalled.

    Raises:
        ProblemError: no matrices of as many rows, too many of them, or numbers that are not finite.

    >>> rows = np.random.default_rng(0).standard_normal((1024, 32))
    >>> capacity = facts_held(rows)
    >>> {share: round(facts, -1) for share, facts in capacity.first_gradient.items()}
    {0.5: 100.0, 0.9: 30.0, 0.99: 10.0}
    >>> {share: round(facts, -1) for share, facts in capacity.trained.items()}
    {0.5: 190.0, 0.9: 180.0, 0.99: 170.0}
    """
    rows = _checked("tokens", tokens)
    answers = rows if outputs is None else _checked("outputs", outputs)
    if len(rows) != len(answers):
        raise ProblemError(f"there are {len(rows)} rows of tokens and {len(answers)} of outputs")
    inputs = _spanned(rows)
    labels = inputs if outputs is None else _spanned(answers)
    lengths = np.linalg.norm(whitened(answers), axis=1)
    return FactsHeld(
        first_gradient=first_gradient_facts(rows, answers),
        trained=trained_facts(inputs, labels, lengths),
        extrapolated=beyond("dim", min(inputs, labels), law_named("converged").tested["dim"]),
    )


def _checked(name: str, matrix: np.ndarray) -> Float[np.ndarray, "V d"]:
    rows = np.asarray(matrix)
    if rows.ndim != 2 or min(rows.shape) < 2 or rows.dtype.kind not in "fiu":
        raise ProblemError(
            f"{name} must be a matrix with an embedding in each row, not {rows.dtype} of the shape "
            f"{rows.shape}"
        )
    if len(rows) > MOST_ROWS:
        raise ProblemError(
            f"{name} has {len(rows)} rows, more than {MOST_ROWS}; take a random sample of them"
        )
    rows = rows.astype(np.float64)
    if not np.isfinite(rows).all():
        raise ProblemError(f"{name} has numbers that are not finite; leave these rows out")
    return rows


def _spanned(rows: Float[np.ndarray, "V d"]) -> int:
    """The directions in which rows vary by more than rounding, and one more for their mean."""
    centred = rows - rows.mean(axis=0)
    variances = np.linalg.eigvalsh(centred.T @ centred)
    return min(int((variances > _ROUNDING * variances[-1]).sum()) + 1, rows.shape[1])
