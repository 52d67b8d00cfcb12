"""The literal steps compared with autograd of the module's loss, and with their limit."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import assert_close, sizes_of_terms, small_problems

from recallscope import Instance, Problem, Threads, learn
from recallscope.model.transformer import Transformer
from recallscope.problem.problem import ACTIVATIONS
from recallscope.three_step.batch import Tile
from recallscope.three_step.finite_steps import residual
from recallscope.three_step.three_step import Learned


def whole_batch(instance):
    return Tile.of(instance.task.draw(0, int(instance.problem.samples)))


def three_steps_by_autograd(instance, tile):
    """The algorithm as one would write it with the module and its loss."""
    eta, gamma = instance.problem.eta, instance.problem.gamma
    model = Transformer(instance)

    def step(weight, size):
        (change,) = torch.autograd.grad(model.loss(*tile), weight)
        with torch.no_grad():
            weight -= size * change

    step(model.V, eta)
    V1 = model.V.detach().clone()
    step(model.W, gamma)
    step(model.V, gamma)
    alpha = model.W.detach() @ instance.end / (gamma * (instance.end @ instance.end))
    return Learned(V1, alpha, model.V.detach())


@settings(max_examples=300)
@given(
    small_problems(regime="literal", eta=1.0, gamma=1.0),
    st.floats(1e-3, 3.0),
    st.floats(1e-2, 30.0),
    st.integers(0, 10**6),
)
def test_literal_steps_are_the_gradients_of_the_loss(problem, eta, gamma, seed):
    instance = Instance.make(problem.replace(eta=eta, gamma=gamma), seed)
    with Threads() as threads, torch.no_grad():
        ours = learn(instance, threads)
    autograd = three_steps_by_autograd(instance, whole_batch(instance))
    first, attention, second = sizes_of_terms(instance)
    assert_close(ours.V1, autograd.V1, eta * first)
    assert_close(ours.alpha, autograd.alpha, eta * attention)
    assert_close(ours.V2, autograd.V2, eta * first + gamma * second)


@pytest.mark.parametrize(
    "corner",
    [
        {"length": 1},
        {"samples": 1},
        {"vocab": 2, "length": 6},
        {"vocab": 2, "samples": 1, "length": 1},
        {"vocab": 3, "length": 12},  # every sequence repeats tokens
    ],
    ids=str,
)
@pytest.mark.parametrize("activation", [None, *ACTIVATIONS])
@pytest.mark.parametrize("trigger", [False, True])
def test_literal_steps_in_the_corners(corner, activation, trigger):
    problem = Problem(
        **{"vocab": 7, "samples": 23, "dim": 5, "length": 4} | corner,
        width=6 if activation else None,
        activation=activation,
        trigger_in_values=trigger,
        regime="literal",
        eta=0.7,
        gamma=2.0,
    )
    instance = Instance.make(problem, seed=5)
    with Threads() as threads, torch.no_grad():
        ours = learn(instance, threads)
    autograd = three_steps_by_autograd(instance, whole_batch(instance))
    for name, scale in zip(("V1", "alpha", "V2"), sizes_of_terms(instance), strict=True):
        assert_close(getattr(ours, name), getattr(autograd, name), scale)


@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0, 1e4])
def test_the_softmax_in_blocks_is_exact_for_small_and_for_enormous_logits(size):
    instance = Instance.make(Problem(vocab=5000, samples=1, dim=8, length=1), seed=0)
    hidden = size * torch.randn(600, 8, dtype=torch.float64, generator=torch.manual_seed(0))
    label = torch.arange(600)
    guess = (hidden @ instance.outputs.T).softmax(dim=1)
    expected = instance.outputs[label] - guess @ instance.outputs
    torch.testing.assert_close(residual(instance, hidden, label), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"trigger_in_values": True},
        {"embedding": "gaussian"},
        {"width": 40, "activation": "relu"},
        {"width": 40, "activation": "tanh", "trigger_in_values": True},
    ],
    ids=str,
)
def test_literal_steps_converge_to_the_limit(change):
    """With η = ε and γ = 1/ε³ the error of the attention vector falls in proportion to η."""
    problem = Problem(**{"vocab": 40, "samples": 400, "dim": 16, "length": 5} | change)
    with Threads() as threads, torch.no_grad():
        limit = learn(Instance.make(problem, seed=1), threads)
        errors = []
        for step in range(1, 6):
            eta = 10.0**-step
            literal = problem.replace(regime="literal", eta=eta, gamma=1e3 * eta**-3)
            learned = learn(Instance.make(literal, seed=1), threads)
            torch.testing.assert_close(learned.V1 / eta, limit.V1, rtol=1e-12, atol=1e-15)
            errors.append(
                (
                    float((learned.alpha / eta - limit.alpha).norm() / limit.alpha.norm()),
                    float((learned.V2 / literal.gamma - limit.V2).norm() / limit.V2.norm()),
                )
            )
    attention, value = zip(*errors, strict=True)
    for before, after in pairwise(attention[1:]):
        assert before / after == pytest.approx(10, rel=0.15)
    assert value[-1] < 1e-4
    assert value[-1] < value[-2] / 5 < value[-3] / 25
