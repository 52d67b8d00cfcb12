"""How many facts given embeddings store, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recallscope import ProblemError, facts_held

ROWS = np.random.default_rng(0).standard_normal((600, 24))
OTHER = np.random.default_rng(1).standard_normal((600, 24))


def recalled(tokens: np.ndarray, outputs: np.ndarray, facts: int, seed: int) -> float:
    """The share of facts that the sum of products of random pairs of rows answers right."""
    rng = np.random.default_rng(seed)
    keys = tokens[rng.choice(len(tokens), facts, replace=False)]
    labels = outputs[rng.choice(len(outputs), facts, replace=False)]
    labels = labels - labels.mean(axis=0)  # a step from equal probabilities subtracts it
    scores = keys @ (keys.T @ labels) @ labels.T
    return float(np.mean(scores.argmax(axis=1) == np.arange(facts)))


@pytest.mark.parametrize("mean", [0.0, 1.0])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_one_step_is_as_counted_in_memories_made_here(mean, share):
    tokens, outputs = ROWS + mean, OTHER + mean
    facts = round(facts_held(tokens, outputs).first_gradient[share])
    measured = np.mean([recalled(tokens, outputs, facts, seed) for seed in range(100)])
    assert measured == pytest.approx(share, abs=0.05)


def test_a_mean_disturbs_one_step_and_not_training():
    plain, shifted = facts_held(ROWS, OTHER), facts_held(ROWS + 2, OTHER)
    assert shifted.first_gradient[0.9] < plain.first_gradient[0.9] / 2
    assert shifted.trained == plain.trained
    for found in (plain.first_gradient, plain.trained):
        assert found[0.5] > found[0.9] > found[0.99]


def test_outputs_are_the_tokens_if_none_are_given():
    assert facts_held(ROWS) == facts_held(ROWS, ROWS)


def test_directions_without_variance_store_nothing_after_training():
    flat = ROWS @ np.diag([1.0] * 12 + [0.0] * 12)
    assert facts_held(flat, OTHER).trained[0.9] < 0.7 * facts_held(ROWS, OTHER).trained[0.9]


def test_more_facts_than_rows_are_infinite_and_dimensions_out_of_range_are_named():
    wide = np.random.default_rng(0).standard_normal((64, 300))
    found = facts_held(wide)
    assert found.first_gradient[0.5] == math.inf
    assert found.extrapolated is None or "dim" in found.extrapolated
    assert "dim" in facts_held(np.random.default_rng(0).standard_normal((500, 300))).extrapolated


@pytest.mark.parametrize(
    ("tokens", "outputs", "sentence"),
    [
        (ROWS[0], None, "tokens must be a matrix with an embedding in each row, not float64 of"),
        (ROWS.astype(object), None, "tokens must be a matrix"),
        (np.ones((8193, 2)), None, "tokens has 8193 rows, more than 8192; take a random sample"),
        (ROWS, OTHER[:5], "there are 600 rows of tokens and 5 of outputs"),
        (ROWS, OTHER * np.nan, "outputs has numbers that are not finite"),
    ],
)
def test_what_is_no_embeddings_is_refused(tokens, outputs, sentence):
    with pytest.raises(ProblemError, match=sentence):
        facts_held(tokens, outputs)
