"""Training of any module: groups of weights, both kinds of optimiser, rates, cost and bits."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch
from made_parts import made
from torch import nn
from trainings import stopped_and_resumed

import recallscope
from recallscope import Metric, Model, Problem, Status, Store, run
from recallscope.model.parameters import parameters_of
from recallscope.model.setup import Setup
from recallscope.three_step.cost import predict_cost
from recallscope.training.groups import matrices_and_rest, usual_groups
from recallscope.training.loop import Training, share_of_rate

STOCK = Problem(
    vocab=16, samples=40, dim=8, length=3, model="two-layers", learner="adam", steps=6, batch=16
)
MODULE = nn.Sequential(nn.Embedding(6, 4), nn.LayerNorm(4), nn.Linear(4, 6))


def test_biases_norms_and_embeddings_do_not_decay():
    decaying, rest = usual_groups(MODULE)
    assert [tuple(each.shape) for each in decaying["params"]] == [(6, 4)]
    assert decaying["params"][0] is MODULE[2].weight
    assert "weight_decay" not in decaying
    assert rest["weight_decay"] == 0
    assert len(rest["params"]) == 4


def test_a_tied_table_is_an_embedding():
    tied = nn.Sequential(nn.Embedding(6, 4), nn.Linear(4, 6, bias=False))
    tied[1].weight = tied[0].weight
    (group,) = usual_groups(tied)
    assert (len(group["params"]), group["weight_decay"]) == (1, 0)


def test_frozen_weights_are_in_no_group():
    frozen = nn.Linear(4, 4)
    frozen.weight.requires_grad_(False)
    (group,) = usual_groups(frozen)
    assert [each.ndim for each in group["params"]] == [1]


def test_matrices_have_spectral_steps_and_the_rest_has_adamw():
    matrices, rest = matrices_and_rest(usual_groups(MODULE))
    assert [len(group["params"]) for group in matrices] == [1]
    assert [len(group["params"]) for group in rest] == [4]
    both = STOCK.replace(learner="muon").part("learner").optimiser(usual_groups(MODULE), 0.02)
    assert [type(each).__name__ for each in both.optimisers] == ["Muon", "AdamW"]
    assert both.param_groups[1]["rate_share"] < 1


@pytest.mark.parametrize("learner", ["muon", "polar"])
def test_a_spectral_step_reaches_every_weight(learner):
    setup = Setup(problem=STOCK.replace(learner=learner), seed=0)
    before = {name: each.clone() for name, each in setup.model().named_parameters()}
    training = Training([setup], setup.problem.part("learner").optimiser, 0.02)
    training.probe()
    after = dict(training.trainee.module.named_parameters())
    # A key's bias shifts all scores of a query equally, so its gradient is zero.
    still = [name for name, each in before.items() if torch.equal(each, after[name])]
    assert all(name.endswith("in_proj_bias") for name in still)
    assert len(before) > 20


@pytest.mark.parametrize("learner", ["adam", "adamw", "muon"])
def test_a_stock_module_resumes_to_the_bit(learner, tmp_path, monkeypatch):
    problem = STOCK.replace(learner=learner, clip=0.5, warmup=0.5)
    whole = run(problem, seed=2).result()
    assert stopped_and_resumed(problem, 3, tmp_path / "half", monkeypatch, seed=2) == whole


def test_a_stock_module_has_the_same_bits_on_processes(tmp_path):
    cells = [(STOCK.replace(learner=each), 1) for each in ("adam", "adamw", "muon")]
    recallscope.sweep(cells, tmp_path / "one", executor="serial", progress=False)
    recallscope.sweep(cells, tmp_path / "two", executor="processes", workers=2, progress=False)
    one, two = (
        {record.problem.learner: record.result() for record in Store(tmp_path / name).records()}
        for name in ("one", "two")
    )
    assert one == two
    assert len(one) == 3


def test_a_module_has_the_rate_that_is_usual_for_modules():
    assert run(STOCK.replace(steps=1)).metric("rate_used") == 1e-3
    assert run(STOCK.replace(steps=1, learner="muon")).metric("rate_used") == 0.02
    paper = STOCK.replace(steps=1, model="transformer")
    assert run(paper).metric("rate_used") > 0.02


def test_a_model_may_set_its_rate_and_groups():
    seen = []

    def groups(module):
        seen.append(module)
        return usual_groups(module)

    plain = made(
        Model,
        name="plain",
        build=lambda setup: _Plain(setup.problem),
        default_rate=lambda problem: 0.25,
        parameter_groups=groups,
    )
    record = run(STOCK.replace(model=plain, steps=1))
    assert record.metric("rate_used") == 0.25
    assert seen


class _Plain(nn.Module):
    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.table = nn.Embedding(problem.vocab, problem.vocab)

    def forward(self, tokens, position):
        return self.table(tokens.gather(1, position[:, None])[:, 0])


def test_the_rate_rises_before_any_schedule():
    problem = STOCK.replace(steps=100, warmup=0.2)
    assert share_of_rate(problem, 0) == 1 / 20
    assert share_of_rate(problem, 50) == 1
    falling = problem.replace(schedule="cosine")
    assert share_of_rate(falling, 50) == pytest.approx(0.5)
    assert share_of_rate(falling, 0) == 1 / 20
    with pytest.raises(recallscope.ProblemError, match="warmup"):
        STOCK.replace(warmup=2.0)


def test_a_cut_gradient_moves_weights_less():
    """With gradient descent, where a step is as long as its gradient."""
    moved = {}
    for clip in (0.0, 1e-3):
        setup = Setup(problem=STOCK.replace(learner="sgd", clip=clip, steps=1), seed=0)
        training = Training([setup], _sgd, 1.0)
        before = [each.detach().clone() for each in training.weights]
        training.run()
        moved[clip] = sum(
            float((each.detach() - old).square().sum())
            for each, old in zip(training.weights, before, strict=True)
        )
    assert moved[1e-3] == pytest.approx(1e-6, rel=1e-3)
    assert moved[0.0] > 1e-4


def _sgd(weights, rate):
    return torch.optim.SGD(weights, lr=rate)


def test_parameters_are_counted_without_building_them():
    found = parameters_of(STOCK)
    module = Setup(problem=STOCK, seed=0).model()
    assert found.total == found.trained == sum(each.numel() for each in module.parameters())
    assert found.embedding == 18 * 8
    paper = parameters_of(STOCK.replace(model="transformer", width=32))
    assert paper == (2 * 17 * 8 + 8 * 8 + 2 * 32 * 8, 8 * 8 + 32 * 8, 2 * 17 * 8)


def test_a_module_that_does_not_fit_is_refused_before_it_is_built():
    built = []

    def build(setup):
        built.append(torch.empty(0).device.type)
        return nn.Linear(2**20, 2**20)

    huge = made(Model, name="huge", build=build)
    started = time.monotonic()
    record = run(STOCK.replace(model=huge))
    assert record.status is Status.INFEASIBLE
    assert "memory" in record.reason
    assert set(built) == {"meta"}
    assert time.monotonic() - started < 5


def test_the_cost_of_a_module_is_known_and_grows_with_its_steps():
    less, more = (predict_cost(STOCK.replace(steps=steps)) for steps in (100, 1000))
    assert less.known
    # Of one probe: there are ten times the steps, and fewer than ten times the evaluations.
    assert 1 < more.seconds / less.seconds < 10
    assert less.memory_bytes == more.memory_bytes


def test_a_metric_of_two_axes_is_stored_and_comes_back(tmp_path):
    problem = STOCK.replace(steps=1, metrics=("confusion",))
    recallscope.sweep([(problem, 0)], tmp_path / "runs", executor="serial", progress=False)
    (record,) = Store(tmp_path / "runs").records()
    found = record.array("confusion")
    assert found.shape == (16, 16)
    assert found.sum() == record.test_samples
    assert np.trace(found) / found.sum() == record.recall_accuracy
    assert run(problem).result() == record.result()
    with pytest.raises(recallscope.ProblemError, match="no metric"):
        record.array("nothing")


def test_a_metric_sees_the_module_and_its_attention():
    seen = {}

    def measure(setup, learnt):
        tokens, position, _ = setup.samples(0, 32, "test")
        seen["training"] = learnt.module.training
        with torch.no_grad():
            attention = learnt.module.attention(tokens[None], position[None])[0]
        return attention.gather(1, position[:, None])[:, 0].mean()

    problem = STOCK.replace(
        model="transformer", steps=50, metrics=(made(Metric, name="attended", measure=measure),)
    )
    record = run(problem)
    assert record.metric("attended") > 0.5
    assert seen == {"training": False}
    own = problem.replace(
        model="two-layers", metrics=(made(Metric, name="weights", measure=_count_of_weights),)
    )
    assert run(own.replace(steps=1)).metric("weights") == parameters_of(own).total


def _count_of_weights(setup, learnt):
    assert not learnt.module.training
    return float(sum(each.numel() for each in learnt.module.parameters()))
