"""The population: finite batches converge to it, with errors of one over the root of their size."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch
from lanes import slow_after_first
from problems import sizes_of_terms

from recallscope import Instance, Problem, Samples, Threads, learn, run
from recallscope.three_step import population_mlp, stream
from recallscope.three_step.three_step import training_batch

ATTENTION = {"vocab": 60, "dim": 32, "length": 6}
SEED = 3


def learnt(problem):
    with Threads() as threads, torch.no_grad():
        return learn(Instance.make(problem, SEED), threads)


def distances(problem, sizes):
    """For each size the relative distance of V1, α and V2 from those of the population."""
    population = learnt(problem)
    rows = []
    for size in sizes:
        finite = learnt(problem.replace(samples=size))
        rows.append(
            [
                float((getattr(finite, name) - whole).norm() / whole.norm())
                for name, whole in vars(population).items()
            ]
        )
    return torch.tensor(rows)


def assert_rate_of_a_half(errors, sizes, names):
    steps = torch.tensor([math.log(size) for size in sizes], dtype=torch.float64)
    steps -= steps.mean()
    for name in names:
        error = errors[:, ("V1", "alpha", "V2").index(name)].double().log()
        slope = float((steps * error).sum() / (steps**2).sum())
        assert slope == pytest.approx(-0.5, abs=0.1), name
        assert error[-1] < math.log(0.05), name


@pytest.mark.parametrize(
    "change",
    slow_after_first(
        [{}, {"trigger_in_values": True}, {"embedding": "gaussian"}, {"length": 1}, {"length": 2}],
        2,
    ),
    ids=str,
)
def test_attention_alone_converges_at_the_root_of_the_batch(change):
    problem = Problem(**ATTENTION | change, samples=math.inf)
    sizes = [4**k * 1000 for k in range(6)]
    names = ("V1", "alpha", "V2") if problem.length > 1 else ("V1", "V2")
    assert_rate_of_a_half(distances(problem, sizes), sizes, names)


def test_partial_attention_agrees_with_a_huge_batch():
    """Here the marked token often loses, so every part of the third step is seen."""
    problem = Problem(vocab=40, samples=math.inf, dim=6, length=12)
    assert 0.1 < run(problem, SEED, test_samples=20_000).attention_accuracy < 0.95
    finite = Instance.make(problem.replace(samples=2_000_000), SEED)
    with Threads() as threads, torch.no_grad():
        population = learn(Instance.make(problem, SEED), threads)
        # The same attention vector on both sides: near a tie it would decide the third step.
        batch = training_batch(finite, threads)
        V2 = stream.second_value(finite, batch, population.V1, population.alpha)
    assert float((V2 - population.V2).norm() / population.V2.norm()) < 0.01


MLPS = [
    {"width": 40, "activation": "relu"},
    {"width": 40, "activation": "tanh", "trigger_in_values": True},
    {"width": 40, "activation": "gelu", "length": 2},
    {"width": 40, "activation": "quadratic", "embedding": "gaussian"},
]


@pytest.mark.parametrize("change", slow_after_first(MLPS), ids=str)
def test_the_mlp_converges_at_the_root_of_the_batch(change):
    problem = Problem(**ATTENTION | change, samples=math.inf)
    sizes = [4**k * 1000 for k in range(6)]
    assert_rate_of_a_half(distances(problem, sizes), sizes, ("V1", "alpha", "V2"))


@pytest.mark.parametrize("change", MLPS, ids=str)
def test_the_quadrature_of_the_mlp_is_of_second_order(change, monkeypatch):
    problem = Problem(**ATTENTION | change, samples=math.inf)
    found = {}
    for points in (8, 16, 256):
        monkeypatch.setattr(population_mlp, "_POINTS_PER_DEVIATION", points)
        found[points] = learnt(problem)
    for name in ("V1", "alpha"):
        coarse, fine = (
            float((getattr(found[points], name) - getattr(found[256], name)).norm())
            / float(getattr(found[256], name).norm())
            for points in (8, 16)
        )
        assert fine < 1e-3, name
        assert fine < coarse / 2, name


@pytest.mark.slow
@pytest.mark.parametrize("length", [2, 16, pytest.param(256, marks=pytest.mark.slow)])
@pytest.mark.parametrize("activation", ["relu", "gelu", "tanh", "quadratic"])
def test_the_quadrature_errs_by_less_than_one_in_ten_thousand(length, activation, monkeypatch):
    problem = Problem(
        vocab=512, samples=math.inf, dim=64, length=length, width=64, activation=activation
    )
    usual = learnt(problem)
    monkeypatch.setattr(population_mlp, "_POINTS_PER_DEVIATION", 256)
    fine = learnt(problem)
    for name in ("V1", "alpha"):
        difference = getattr(usual, name) - getattr(fine, name)
        assert difference.norm() < 1e-4 * getattr(fine, name).norm(), name


def every_sample(instance, threads):
    """All V^L sequences with all L positions marked: a batch that is its own expectation."""
    vocab, length = instance.problem.vocab, instance.problem.length
    sequences = np.array(list(itertools.product(range(vocab), repeat=length)))
    tokens = np.repeat(sequences, length, axis=0)
    position = np.tile(np.arange(length), len(sequences))
    label = instance.task.permutation[tokens[np.arange(len(tokens)), position]]
    whole = Samples(tokens, position, label)
    return dataclasses.replace(
        training_batch(instance, threads),
        samples=len(tokens),
        draw=lambda start, stop: Samples(*(array[start:stop] for array in whole)),
    )


@pytest.mark.parametrize("trigger", [False, True])
@pytest.mark.parametrize(("vocab", "length"), [(2, 1), (2, 5), (6, 2), (5, 4)])
@pytest.mark.parametrize("width", [None, 7])
def test_the_expectation_is_that_of_all_samples(vocab, length, trigger, width):
    problem = Problem(
        vocab=vocab,
        samples=math.inf,
        dim=4,
        length=length,
        width=width,
        activation="gelu" if width else None,
        trigger_in_values=trigger,
    )
    instance = Instance.make(problem, SEED)
    with Threads() as threads, torch.no_grad():
        population = learn(instance, threads)
        batch = every_sample(instance, threads)
        V1 = stream.first_value(instance, batch)
        alpha = stream.attention(instance, batch, V1)
        V2 = stream.second_value(instance, batch, V1, population.alpha)
    exact = 1e-12 if width is None else 1e-3
    terms = sizes_of_terms(instance)
    for ours, theirs, size, tolerance in (
        (population.V1, V1, terms[0], exact),
        (population.alpha, alpha, terms[1], exact),
        (population.V2, V2, terms[2], 1e-12),
    ):
        assert (ours - theirs).norm() <= tolerance * theirs.norm() + 1e-14 * size


def test_the_record_of_a_huge_batch_is_that_of_the_population():
    problem = Problem(vocab=200, samples=math.inf, dim=40, length=8)
    population, huge = run(problem, 0), run(problem.replace(samples=4_000_000), 0)
    for name in ("attention_accuracy", "recall_accuracy", "first_gradient_accuracy"):
        assert getattr(huge, name) == pytest.approx(getattr(population, name), abs=0.02)
    for name in ("score_signal", "score_noise", "trigger_cosine", "first_value_cosine"):
        assert getattr(huge, name) == pytest.approx(getattr(population, name), rel=0.01)
    assert population.first_value_cosine == pytest.approx(population.second_value_cosine, abs=1e-9)
