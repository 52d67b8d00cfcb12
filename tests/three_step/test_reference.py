"""The reference judges every engine: the same weights for the same instance."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from problems import assert_close, sizes_of_terms, small_problems

from recallscope import Instance, Problem, ProblemError, Threads, learn, run
from recallscope.three_step import reference

SEEDS = st.integers(0, 10**6)


def learned(instance, engine):
    with Threads() as threads, torch.no_grad():
        return learn(instance, threads, engine=engine)


def attention_is_clear(instance, expected, terms):
    """Whether no position of the batch is attended to by rounding alone, nor the whole vector is.

    The vector is a sum of terms of a given size, which may cancel.
    """
    if expected.alpha.abs().max() < 1e-12 * terms:
        return False
    tokens, position, _ = (torch.from_numpy(each) for each in instance.task.draw(0, 40))
    marked = torch.nn.functional.one_hot(position, tokens.shape[1])
    scores = (instance.tokens @ expected.alpha)[tokens]
    scores = scores + marked * (instance.trigger @ expected.alpha)
    # The same token twice has the same score, and what is read is the same too.
    other = (tokens[:, :, None] != tokens[:, None, :]) | (marked[:, :, None] != marked[:, None, :])
    gap = (scores[:, :, None] - scores[:, None, :]).abs()
    return bool((gap[other] > 1e-9 * scores.abs().max()).all())


@pytest.mark.parametrize("engine", ["stream", "counts"])
@settings(max_examples=300)
@given(data=st.data(), seed=SEEDS)
def test_engines_equal_the_reference_in_the_limit(engine, data, seed):
    problem = data.draw(small_problems(mlp=False if engine == "counts" else None))
    instance = Instance.make(problem, seed)
    ours, expected = learned(instance, engine), learned(instance, "reference")
    first, attention, second = sizes_of_terms(instance)
    assert_close(ours.V1, expected.V1, first)
    assert_close(ours.alpha, expected.alpha, attention)
    assume(attention_is_clear(instance, expected, attention))
    assert_close(ours.V2, expected.V2, second)


@settings(max_examples=300)
@given(
    small_problems(regime="literal", eta=1.0, gamma=1.0),
    st.floats(1e-3, 3.0),
    st.floats(1e-2, 30.0),
    SEEDS,
)
def test_literal_steps_equal_the_reference(problem, eta, gamma, seed):
    instance = Instance.make(problem.replace(eta=eta, gamma=gamma), seed)
    ours, expected = learned(instance, "auto"), learned(instance, "reference")
    first, attention, second = sizes_of_terms(instance)
    assert_close(ours.V1, expected.V1, eta * first)
    assert_close(ours.alpha, expected.alpha, eta * attention)
    assert_close(ours.V2, expected.V2, eta * first + gamma * second)


@pytest.mark.parametrize("width", [None, 24])
def test_the_population_is_the_limit_of_many_samples(width):
    """The distance falls as one over the root of N, in all three steps."""
    sizes = {"vocab": 12, "dim": 16, "length": 3, "width": width}
    population = learned(Instance.make(Problem(samples=math.inf, **sizes), 0), "auto")
    distances = []
    for samples in (2000, 128_000):
        found = learned(Instance.make(Problem(samples=samples, **sizes), 0), "reference")
        distances.append(
            [
                float((getattr(found, name) - expected).norm() / expected.norm())
                for name, expected in vars(population).items()
            ]
        )
    for few, many in zip(*distances, strict=True):
        assert many < 0.05
        assert 1 / 24 < many / few < 1 / 3  # 1/8 in the mean


def test_what_the_page_draws_is_recalled_as_often_as_problems_of_the_same_sizes():
    own = []
    for seed in range(6):
        frozen, batch, fresh = reference.draw(V=256, N=1024, d=128, L=8, seed=seed)
        _, weights = reference.three_steps(frozen, batch)
        own.append(reference.tested(frozen, fresh, weights, limit=True)[1])
    problem = Problem(vocab=256, samples=1024, dim=128, length=8)
    ours = [run(problem, seed).recall_accuracy for seed in range(6)]
    assert sum(own) / 6 == pytest.approx(sum(ours) / 6, abs=0.03)


def test_a_record_of_the_reference_is_that_of_another_engine():
    problem = Problem(vocab=64, samples=512, dim=24, length=5, width=40)
    how = {"dtype": "float64", "test_samples": 512}
    ours, expected = (run(problem, 3, engine=name, **how) for name in ("auto", "reference"))
    assert expected.provenance.engine == "reference"
    assert ours.recall_accuracy == expected.recall_accuracy
    assert ours.score_signal == pytest.approx(expected.score_signal, rel=1e-9)


def test_the_reference_needs_a_finite_batch():
    with pytest.raises(ProblemError, match="engine 'reference' is for finite batches"):
        run(Problem(vocab=64, samples="inf", dim=24, length=5), engine="reference")
