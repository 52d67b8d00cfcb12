"""The capacity cost of outputs of unequal length, compared with projections on the cones."""

import numpy as np
import pytest
from scipy.optimize import nnls

from recallscope.theory.output_cone import cone
from recallscope.theory.output_lengths import cost_of_lengths, whitened
from recallscope.theory.table_facts import trained_facts


def _outputs(vocab: int, dim: int, spread: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((vocab, dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.exp(spread * rng.standard_normal((vocab, 1)))


def _lacking(rows: np.ndarray, draws: int) -> float:
    """The mean squared distance of normal vectors from the cones in which a row scores highest."""
    rng = np.random.default_rng(1)
    white = whitened(rows)
    found = []
    for own in range(len(white)):
        sides = np.delete(white, own, 0) - white[own]
        for vector in rng.standard_normal((draws, white.shape[1])):
            away, _ = nnls(sides.T, vector)
            found.append(np.sum((sides.T @ away) ** 2))
    return float(np.mean(found))


@pytest.mark.parametrize("spread", [0.0, 0.3, 0.6])
def test_the_cost_of_lengths_is_that_of_the_cones(spread):
    rows = _outputs(96, 20, spread)
    lengths = np.linalg.norm(whitened(rows), axis=1)
    expected = cost_of_lengths(lengths, 96, 20) * cone(96, 20)
    assert expected == pytest.approx(_lacking(rows, 4), rel=0.1)


def test_unequal_answers_leave_space_for_fewer_facts():
    equal, unequal = (
        trained_facts(24, 24, np.linalg.norm(whitened(_outputs(512, 24, spread)), axis=1))[0.99]
        for spread in (0.0, 0.6)
    )
    # Certified minima of 24 × 24 matrices are right for all of 111 and of 71 facts, and of no more
    # than 127 and 83.
    assert 106 < equal < 118
    assert 71 < unequal < 90
