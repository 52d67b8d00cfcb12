"""The polynomials agree with the closed form of the likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaln, expit, logit

from recallscope.statistics.outcome_tables import OutcomeTables, Runs

SPREAD = np.array([0.003, 0.05, 0.5])


def exactly(right, tests, away, target, spread):
    """The likelihood of one outcome, as it is derived."""
    mean = np.clip(expit(target + away), 1e-7, 1 - 1e-7)
    share = (0.3 * away) ** 2 * mean * (1 - mean) + spread[:, None] ** 2
    both = 1 / share - 1
    a, b = mean * both, (1 - mean) * both
    return betaln(a + right, b + tests - right) - betaln(a, b)


@pytest.mark.parametrize("target", [0.1, 0.5, 0.97])
def test_tables_hold_the_likelihood_of_outcomes(target):
    runs = Runs(
        np.array([1.0, 2.0, 2.0, 3.0]), np.array([0, 0.25, 0.5, 1]), np.array([64, 400, 400, 4096])
    )
    tables = OutcomeTables(runs, logit(target), SPREAD)
    assert tables.sizes.tolist() == [1, 2, 3]
    away = np.concatenate([np.linspace(-0.1, 0.1, 41), np.linspace(-30, 30, 61), [-900, 900]])
    found = tables.read(0, np.stack([away] * 3))
    outcomes = [[(0, 64)], [(100, 400), (200, 400)], [(4096, 4096)]]
    for size, seen in enumerate(outcomes):
        wanted = sum(exactly(*outcome, away, logit(target), SPREAD) for outcome in seen)
        near = wanted > wanted.max() - 50  # sizes farther from the best have no weight
        assert np.abs(found[:, size] - wanted)[near].max() < 1e-5
        np.testing.assert_allclose(found[:, size], wanted, rtol=1e-4, atol=1e-3)
    again = tables.read(2, away[None])  # from any size on
    np.testing.assert_array_equal(again[:, 0], found[:, 2])
