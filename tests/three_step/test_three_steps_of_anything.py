"""Three steps of any model, on any task, for any loss: they are gradient steps, and say so."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from made_parts import made
from problems import small_problems
from torch import nn
from torch.nn import functional

import recallscope
from recallscope import (
    Learner,
    Metric,
    Model,
    Outcome,
    Problem,
    ProblemError,
    Threads,
    critical,
    learn,
    predict,
    run,
    three_steps,
)
from recallscope.model.setup import Setup
from recallscope.three_step import autograd_steps
from recallscope.three_step.autograd_steps import LOSSES, learn_by_autograd

PROBLEM = Problem(vocab=24, samples=600, dim=16, length=3, regime="literal", eta=0.5, gamma=3000.0)
HOW = {"test_samples": 512, "dtype": "float64"}


class Mean(nn.Module):
    """Reads the mean of the tokens, with a learnt weight for the marked one."""

    def __init__(self, setup):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(setup.problem.vocab, setup.problem.dim)
        self.mark = nn.Parameter(torch.zeros(1))
        self.read = nn.Linear(setup.problem.dim, setup.problem.vocab, bias=False)
        nn.init.zeros_(self.read.weight)

    def forward(self, tokens, position):
        weights = functional.one_hot(position, tokens.shape[1]) * self.mark
        return self.read((self.embed(tokens) * weights.softmax(dim=1)[..., None]).sum(dim=1))


def parts(module):
    return [module.read.weight], [module.mark]


def weights_of(problem, loss=functional.cross_entropy):
    outcome = learn_by_autograd(Setup(problem=problem, seed=0, dtype="float64"), loss)
    return dict(outcome.logits.named_parameters())


@settings(max_examples=100)
@given(
    small_problems(regime="literal", eta=1.0, gamma=1.0),
    st.floats(1e-3, 3.0),
    st.floats(1e-2, 30.0),
    st.integers(0, 10**6),
)
def test_on_the_paper_s_system_they_are_those_of_the_engine(problem, eta, gamma, seed):
    setup = Setup(problem=problem.replace(eta=eta, gamma=gamma), seed=seed, test_samples=8)
    module = learn_by_autograd(setup, functional.cross_entropy).logits
    with Threads() as threads, torch.no_grad():
        ours = learn(setup.instance, threads)
    scale = ours.V2.abs().max() + ours.V1.abs().max() + 1e-9
    assert (module.V - ours.V2).abs().max() <= 1e-10 * scale
    attention = gamma * torch.outer(ours.alpha, setup.instance.end)
    assert (module.W - attention).abs().max() <= 1e-10 * (attention.abs().max() + 1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_of_rows_change_nothing(loss, monkeypatch):
    whole = weights_of(PROBLEM, LOSSES[loss])
    monkeypatch.setattr(autograd_steps, "_ROWS", 7)
    for name, weight in weights_of(PROBLEM, LOSSES[loss]).items():
        torch.testing.assert_close(weight, whole[name], rtol=1e-9, atol=1e-12)


def test_losses_are_what_their_names_say():
    random = torch.Generator().manual_seed(0)
    logits = torch.randn(5, 4, generator=random)
    label = torch.tensor([0, 1, 2, 3, 0])
    wanted = functional.one_hot(label, 4).float()
    squared = ((logits - wanted) ** 2).sum() / 10
    assert LOSSES["squared-error"](logits, label).item() == pytest.approx(squared.item())
    right = logits.gather(1, label[:, None])
    margins = (1 - right + logits).clamp(min=0) * (1 - wanted)
    assert LOSSES["hinge"](logits, label).item() == pytest.approx(margins.sum().item() / 20)


def test_each_step_moves_what_the_model_says_or_everything():
    def change(model):
        moved = weights_of(PROBLEM.replace(model=model))
        first = dict(Mean(Setup(problem=PROBLEM, seed=0)).double().named_parameters())
        return {name: not torch.equal(moved[name], first[name]) for name in first}

    with_parts = made(Model, name="mean", build=Mean, three_step_parts=parts)
    assert change(with_parts) == {"mark": True, "embed.weight": False, "read.weight": True}
    assert change(made(Model, name="mean-too", build=Mean)) == dict.fromkeys(
        ("mark", "embed.weight", "read.weight"), True
    )


@pytest.mark.parametrize(
    "change",
    [
        {"loss_function": "squared-error"},
        {"loss_function": "hinge"},
        {"facts": 10},
        {"task": "pairs", "model": "gpt"},
        {"model": made(Model, name="mean", build=Mean, three_step_parts=parts)},
        {"learner": three_steps(functional.multi_margin_loss)},
    ],
    ids=["squared error", "hinge", "facts", "task and model", "model", "learner"],
)
def test_the_limit_is_refused_and_no_law_is_named(change):
    problem = PROBLEM.replace(**change)
    assert run(problem, 0, **HOW).status == "ok"
    found = predict(problem)
    assert (found.law, found.recall_accuracy) == (None, None)
    assert found.reason.startswith("no closed form for the")
    with pytest.raises(ProblemError, match="three steps in the limit are known for the task recal"):
        problem.replace(regime="limit")


def test_engines_are_for_the_paper_s_system():
    with pytest.raises(ProblemError, match="engine 'stream' is for the paper's task, model and"):
        run(PROBLEM.replace(loss_function="hinge"), engine="stream")


def test_a_search_finds_the_samples_that_another_loss_takes():
    sought = PROBLEM.replace(loss_function="squared-error", samples=1)
    found = critical(sought, "samples", 0.5, low=8, high=20_000, budget=24, test_samples=512)
    assert found.status == "ok"
    assert found.low < found.value < found.high


def test_a_loss_of_the_user_s_is_named_and_an_odd_one_is_refused():
    def my_loss(logits, label):
        return functional.cross_entropy(logits, label)

    learner = three_steps(my_loss)
    assert learner.name == "three-step-my-loss"
    problem = PROBLEM.replace(learner=learner)
    assert run(problem, 0, **HOW).recall_accuracy == run(PROBLEM, 0, **HOW).recall_accuracy
    odd = PROBLEM.replace(learner=three_steps(lambda logits, label: logits, name="odd"))
    with pytest.raises(ProblemError, match="a loss is one number, the mean over the samples"):
        run(odd, 0, **HOW)


def test_a_metric_of_the_user_s_works_with_every_learner():
    metric = made(Metric, name="mine", measure=lambda setup, logits: 0.25)
    learner = made(
        Learner,
        name="own",
        learn=lambda setup: Outcome(logits=setup.model(), metrics={"depth": 0.5}),
    )
    small = Problem(vocab=16, samples=64, dim=8, length=2, metrics=metric)
    for changes in (
        {},
        {"samples": "inf"},
        {"learner": "adam", "steps": 2},
        {"learner": "converged"},
        {"regime": "literal", "eta": 0.1, "gamma": 2.0},
        {"regime": "literal", "eta": 0.1, "gamma": 2.0, "loss_function": "hinge"},
        {"learner": learner},
    ):
        record = run(small.replace(**changes), 0, test_samples=64)
        assert record.metric("mine") == 0.25, changes
    with pytest.raises(ProblemError, match="'depth'; what a learner of yours measures is known on"):
        critical(small.replace(learner=learner), "samples", accuracy="depth")
    named = made(Learner, name="named", learn=learner.learn, metrics=("depth",))
    found = critical(small.replace(learner=named), "samples", accuracy="depth", budget=8)
    assert found.status == recallscope.Status.NOT_REACHED  # it is one half at every size
