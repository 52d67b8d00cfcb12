"""Trainings under conditions that once gave wrong records; each test failed before its fix."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from made_parts import changed, made
from safetensors import safe_open
from trainings import stopped_and_resumed

import recallscope
from recallscope import Problem, ProblemError, Store, run
from recallscope.experiment import experiment as module
from recallscope.experiment.experiment import run_together
from recallscope.experiment.metric import Metric
from recallscope.model.kind import Model
from recallscope.model.learner import Learner, Outcome
from recallscope.model.setup import Setup
from recallscope.problem import registry
from recallscope.problem.naming import find_part
from recallscope.problem.part import fields_of
from recallscope.task.kind import Task
from recallscope.task.recall import RecallTask, Samples
from recallscope.training.batches import Batches
from recallscope.training.loop import Ended

SMALL = Problem(vocab=16, samples=40, dim=8, length=3, learner="sgd", steps=12)


# Parts of the samples.


@pytest.mark.parametrize("samples", [33, 40, 63, 64, 65, 96, 100])
def test_a_step_has_as_many_samples_as_asked_for(samples):
    """Batches of 32 from slightly more samples up to three times as many and a remainder."""
    setup = Setup(problem=SMALL.replace(samples=samples, batch=32), seed=3)
    batches = Batches([setup])
    there = [tuple(row) for row in setup.samples(0, samples)[0].tolist()]
    steps = samples // 32
    for epoch in range(2):
        orders = []
        for step in range(epoch * steps, (epoch + 1) * steps):
            tokens, _, label = batches.of_step(step)
            assert label.shape == (1, 32)
            orders += [tuple(row) for row in tokens[0].tolist()]
        # Within an epoch no sample is seen more often than it was drawn.
        assert all(orders.count(row) <= there.count(row) for row in set(orders))
    assert batches.of_step(0)[0].tolist() != batches.of_step(steps)[0].tolist()


def test_parts_of_uneven_samples_depend_on_nothing_but_the_seed(tmp_path, monkeypatch):
    problem = SMALL.replace(samples=45, batch=32, learning_rate=3.0)
    alone = run(problem, 5).result()
    assert alone["metrics"] != run(problem.replace(batch=0), 5).metrics
    together = [record.result() for record in run_together(problem, range(4, 7))]
    assert together[1] == alone
    path = tmp_path / "half.safetensors"
    assert stopped_and_resumed(problem, 7, path, monkeypatch, seed=5) == alone


# One lucky batch.


def lucky_at(step):
    """The task recall, with one step of eight samples of the first fact only."""

    class Lucky(RecallTask):
        def draw(self, start, stop, split="train"):
            drawn = super().draw(start, stop, split)
            if split == "test" or start != 8 * step:
                return drawn
            first = np.zeros_like(drawn.label)
            return Samples(np.zeros_like(drawn.tokens), first, self.permutation[first])

    return made(
        Task,
        name=f"lucky{step}",
        make=lambda problem, seed: Lucky(problem.vocab, problem.length, seed),
    )


class Certain(torch.nn.Module):
    """It knows half of the labels from the start, and nothing of the others."""

    def __init__(self, setup):
        super().__init__()
        instance = setup.instance
        half = torch.arange(instance.problem.vocab) < instance.problem.vocab // 2
        right = torch.nn.functional.one_hot(instance.labels, instance.problem.vocab)
        self.register_buffer("table", 20.0 * (right * half[:, None]).to(instance.tokens.dtype))
        self.shift = torch.nn.Parameter(instance.tokens.new_zeros(1, instance.problem.vocab))

    def forward(self, tokens, position):
        return self.table[tokens.gather(1, position[:, None])[:, 0]] + self.shift


@pytest.mark.parametrize("step", [0, 30])
def test_fresh_samples_do_not_converge_by_one_lucky_batch(step):
    problem = SMALL.replace(
        task=lucky_at(step), length=1, model=made(Model, name="certain", build=Certain)
    ).replace(learner="sgd", batch=8, fresh=True, steps=60, learning_rate=1e-3)
    found = run(problem)
    assert found.metrics["ended"] != Ended.CONVERGED
    assert found.metrics["steps_taken"] == 60
    assert found.metrics["final_loss"] > 0.5


def test_fresh_samples_converge_by_many():
    problem = SMALL.replace(vocab=8, dim=16, learner="adam", batch=64, fresh=True, steps=2000)
    found = run(problem)
    assert found.metrics["ended"] == Ended.CONVERGED
    assert 16 <= found.metrics["steps_taken"] < 2000
    assert found.recall_accuracy == 1


def test_parts_of_the_samples_do_not_converge_before_all_were_seen():
    """Seeds at which the first step has only facts that are known."""
    problem = SMALL.replace(length=1, samples=24, batch=4, steps=30, learning_rate=1e-3)
    problem = problem.replace(model=made(Model, name="certain", build=Certain))
    lucky = []
    for seed in range(200):
        first = Batches([Setup(problem=problem, seed=seed)]).of_step(0)[0]
        if (first < problem.vocab // 2).all():
            lucky.append(run(problem, seed).metrics["steps_taken"])
    assert len(lucky) > 3
    assert set(lucky) == {30}


# Checkpoints.


class Tied(torch.nn.Module):
    """One embedding matrix for tokens and labels, and a part of it under another name."""

    def __init__(self, setup):
        super().__init__()
        instance = setup.instance
        self.embed = torch.nn.Embedding.from_pretrained(instance.tokens.clone(), freeze=False)
        self.unembed = torch.nn.Linear(*reversed(self.embed.weight.shape), bias=False)
        self.unembed.weight = self.embed.weight
        self.mix = torch.nn.Parameter(torch.eye(instance.problem.dim).to(instance.tokens))
        self.register_buffer("first", instance.outputs)
        self.register_buffer("some", instance.outputs[:3])

    def forward(self, tokens, position):
        read = self.embed(tokens.gather(1, position[:, None])[:, 0])
        return self.unembed(read @ self.mix)


@pytest.mark.parametrize("learner", ["adam", "sgd"])
def test_a_training_of_tied_weights_resumes_to_the_bit(learner, tmp_path, monkeypatch):
    problem = SMALL.replace(model=made(Model, name="tied", build=Tied), learner=learner)
    whole = run(problem).result()
    path = tmp_path / "half.safetensors"
    assert stopped_and_resumed(problem, 7, path, monkeypatch) == whole
    with safe_open(path, framework="pt") as file:  # the table once
        saved = {name for name in file.keys() if name.startswith("model.")}  # noqa: SIM118
    assert saved == {"model.embed.weight", "model.mix", "model.first", "model.some"}


def test_a_checkpoint_of_another_version_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "half.safetensors"
    stopped_and_resumed(SMALL, 7, path, monkeypatch)
    newer = changed(find_part("learner", "sgd"), version=3)
    monkeypatch.setitem(registry._loaded, ("learner", "sgd"), newer)
    with pytest.raises(ProblemError, match="another problem, seed, version"):
        module.run(SMALL, checkpoint=path)


# Modules that draw by themselves.


class Noisy(torch.nn.Module):
    """First weights as torch draws them, and dropout."""

    def __init__(self, setup):
        super().__init__()
        instance = setup.instance
        vocab, dim = instance.tokens.shape
        self.layers = torch.nn.Sequential(
            torch.nn.Embedding(vocab, dim), torch.nn.Dropout(0.3), torch.nn.Linear(dim, vocab)
        )

    def forward(self, tokens, position):
        return self.layers(tokens.gather(1, position[:, None])[:, 0])


@pytest.mark.parametrize("learner", ["adam", "gd"])
def test_dropout_depends_on_nothing_but_the_seed(learner, tmp_path, monkeypatch):
    noisy = made(Model, name="noisy", build=Noisy)
    problem = SMALL.replace(model=noisy, learner=learner, learning_rate=0.1)
    found = []
    for before in (1, 2):  # other draws have no effect
        torch.manual_seed(before)
        found.append(run(problem).result())
    path = tmp_path / "half.safetensors"
    assert stopped_and_resumed(problem, 7, path, monkeypatch) == found[0] == found[1]
    assert run(problem, 1).metrics["curve_loss"] != found[0]["metrics"]["curve_loss"]


def test_dropout_leaves_the_generator_of_the_caller_alone():
    torch.manual_seed(7)
    expected = torch.rand(4)
    torch.manual_seed(7)
    run(SMALL.replace(model=made(Model, name="noisy", build=Noisy)))
    assert torch.equal(torch.rand(4), expected)


def test_dropout_differs_from_step_to_step():
    """With constant weights, only the dropout differs between steps."""
    problem = SMALL.replace(
        model=made(Model, name="noisy", build=Noisy), learner="gd", learning_rate=1e-30, steps=6
    )
    losses = run(problem).metrics["curve_loss"]
    assert len(set(losses)) == len(losses) == 7


# Metrics.


def measuring(value):
    return made(Metric, name="mine", measure=lambda setup, logits: value)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (torch.tensor(0.25), 0.25),
        (torch.tensor(0.25, requires_grad=True), 0.25),
        (np.float32(0.25), 0.25),
        (np.array(3), 3.0),
        (torch.tensor([1, 2]), [1.0, 2.0]),
        (np.array([0.5, 0.25]), [0.5, 0.25]),
        ([torch.tensor(1.0), np.float64(2.0)], [1.0, 2.0]),
        (torch.eye(2), [1.0, 0.0, 0.0, 1.0]),
        (np.eye(2), [1.0, 0.0, 0.0, 1.0]),
    ],
    ids=repr,
)
def test_a_metric_may_be_a_tensor_or_an_array(value, kept):
    found = run(SMALL.replace(steps=1, metrics=[measuring(value)]))
    assert (found.status, found.metrics["mine"]) == ("ok", kept)


@pytest.mark.parametrize("value", ["high", "", b"high", None, {"a": 1.0}, 1j], ids=repr)
def test_an_invalid_metric_is_a_failure_that_names_it(value, tmp_path):
    """In a sweep only its record fails."""
    good = SMALL.replace(steps=1)
    broken = good.replace(metrics=[measuring(value)])
    done = recallscope.sweep([(broken, 0), (good, 0)], tmp_path / "facts")
    assert done.by_status == {"failed": 1, "ok": 1}
    (reason,) = (each.reason for each in Store(tmp_path / "facts").records() if each.reason)
    assert "the metric mine must be a number or a list of numbers, not " in reason


def test_an_error_in_a_metric_names_the_metric():
    def measure(setup, logits):
        raise KeyError("top")

    found = run(SMALL.replace(steps=1, metrics=[made(Metric, name="mine", measure=measure)]))
    assert found.status == "failed"
    assert found.reason == "RuntimeError: the metric mine broke off: KeyError: 'top'"


def test_a_learner_may_give_tensors_too():
    def learn(setup):
        return Outcome(logits=setup.model(), metrics={"curve": torch.tensor([2.0, 1.0])})

    found = run(SMALL.replace(learner=made(Learner, name="mine", learn=learn), metrics=()))
    assert found.metrics == {"curve": [2.0, 1.0]}


# Infinitely many samples.


class Uneven(RecallTask):
    """The first fact nine times in ten."""

    def draw(self, start, stop, split="train"):
        drawn = super().draw(start, stop, split)
        tokens = np.where(np.arange(start, stop)[:, None] % 10, 0, drawn.tokens)
        first = np.zeros_like(drawn.position)
        return Samples(tokens, first, self.permutation[tokens[:, 0]])


def test_infinitely_many_samples_are_those_of_equal_facts():
    def make(problem, seed):
        return Uneven(problem.vocab, problem.length, seed)

    limit = {"learner": "converged", "samples": math.inf, "length": 1}
    uneven = SMALL.replace(task=made(Task, name="uneven", make=make), learner="converged")
    with pytest.raises(ProblemError, match=r"which uneven:\w+ does not declare; give a number of"):
        uneven.replace(**limit)
    assert run(uneven).status == "ok"
    for task in ("recall", "memory", made(Task, name="even", make=make, equal_facts=True)):
        assert run(SMALL.replace(task=task, **limit)).status == "ok"


# Help of options.


def test_every_option_of_a_training_has_a_separate_help():
    for learner in ("gd", "sgd", "adam", "adamw", "muon", "polar"):
        helps = [field.help for field in fields_of(find_part("learner", learner)).values()]
        assert len(set(helps)) == len(helps)
    assert "labels" in fields_of(find_part("learner", "gd"))["learn_embeddings"].help
