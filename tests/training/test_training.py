"""Trainings: known special cases, how they end, and bits that do not depend on how they run."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from lanes import slow_after_first
from safetensors import safe_open
from safetensors.torch import save_file

import recallscope
from recallscope import Problem, ProblemError, run
from recallscope.experiment import experiment as module
from recallscope.experiment.experiment import run_together
from recallscope.model.instance import Instance
from recallscope.model.setup import Setup
from recallscope.model.transformer import Transformer
from recallscope.problem.problem import ACTIVATIONS
from recallscope.three_step.batch import Tile
from recallscope.three_step.threads import Threads
from recallscope.three_step.three_step import learn
from recallscope.training.convex import minimum
from recallscope.training.cost import RUNS_AT_ONCE, runs_at_once
from recallscope.training.loop import Ended, Training
from recallscope.training.model import TrainedTransformer, cross_entropy

SMALL = Problem(vocab=48, samples=200, dim=12, length=5)
TINY = Problem(vocab=16, samples=40, dim=8, length=3, learner="adam", steps=40)
OPTIMISERS = ("gd", "sgd", "adam", "adamw", "muon", "polar")


def whole_batch(instance):
    return Tile.of(instance.task.draw(0, int(instance.problem.samples)))


# The model.


@pytest.mark.parametrize("change", [{}, {"width": 20}, {"trigger_in_values": True}], ids=str)
def test_the_trained_model_is_the_transformer(change):
    instance = Instance.make(SMALL.replace(**change), 3)
    plain, fast = Transformer(instance), TrainedTransformer([instance])
    source = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name in ("V", "W"):
            drawn = torch.randn(getattr(plain, name).shape, generator=source, dtype=torch.float64)
            getattr(plain, name).copy_(drawn)
            getattr(fast, name).copy_(drawn)
    tokens, position, label = whole_batch(instance)
    samples = (tokens[None], position[None], label[None])
    assert torch.allclose(
        plain(tokens, position), fast(*samples[:2])[0] + mean_logit(fast, samples)
    )
    losses = plain.loss(tokens, position, label), fast.losses(*samples)[0]
    assert losses[0].item() == pytest.approx(losses[1].item(), abs=1e-12)
    slopes = [
        torch.autograd.grad(loss, (m.V, m.W)) for loss, m in zip(losses, (plain, fast), strict=True)
    ]
    for one, other in zip(*slopes, strict=True):
        assert torch.allclose(one, other, atol=1e-12)


def mean_logit(model, samples):
    """A term that is equal for every label, which centred outputs leave out."""
    return model.hidden(*samples[:2])[0] @ model.outputs[0].mean(dim=0)[:, None]


def test_the_loss_by_blocks_is_the_loss(threads):
    source = torch.Generator().manual_seed(1)
    hidden = 5 * torch.randn(700, 6, generator=source, dtype=torch.float64)
    outputs = torch.randn(3000, 6, generator=source, dtype=torch.float64)
    label = torch.randint(0, 3000, (700,), generator=source)
    one, other = hidden.clone().requires_grad_(), hidden.clone().requires_grad_()
    plain = torch.nn.functional.cross_entropy(one @ outputs.T, label)
    blocks = cross_entropy(other, outputs, label)
    assert plain.item() == pytest.approx(blocks.item(), rel=1e-12)
    plain.backward()
    blocks.backward()
    assert torch.allclose(one.grad, other.grad, atol=1e-14)


# The beginning.


@pytest.mark.parametrize("activation", [None, *ACTIVATIONS])
@pytest.mark.parametrize("trigger_in_values", [False, True])
def test_three_steps_of_gradient_descent_are_those_of_the_engine(activation, trigger_in_values):
    random = np.random.default_rng(5)
    for _ in range(5):
        problem = Problem(
            vocab=int(random.integers(8, 60)),
            samples=int(random.integers(20, 300)),
            dim=int(random.integers(4, 20)),
            length=int(random.integers(1, 9)),
            width=None if activation is None else int(random.integers(5, 40)),
            activation=activation,
            trigger_in_values=trigger_in_values,
            regime="literal",
            eta=float(10 ** random.uniform(-2, 1)),
            gamma=float(10 ** random.uniform(0, 3)),
        )
        seed = int(random.integers(1000))
        with Threads() as threads:
            engine = learn(Instance.make(problem, seed), threads)
        still = problem.replace(learner="gd", steps=0)
        setups = [Setup(problem=still, seed=seed)]
        training = Training(setups, still.part("learner").optimiser, 1.0)
        training.run()
        model = training.trainee.module
        W = problem.gamma * torch.outer(engine.alpha, model.end[0])
        for mine, theirs in ((model.V, engine.V2), (model.W, W)):
            assert (mine - theirs).abs().max() <= 1e-10 * theirs.abs().max()


def test_large_saturation_is_the_limit():
    """After one step of gradient descent attention picks one token, and V is that of the limit."""
    problem = SMALL.replace(samples=400)
    trained = problem.replace(learner="gd", steps=1, saturation=1e6)
    for seed in range(5):
        limit, step = (run(each, seed, dtype="float64") for each in (problem, trained))
        assert step.attention_accuracy == limit.attention_accuracy
        assert step.recall_accuracy == limit.recall_accuracy


def test_small_saturation_leaves_attention_to_training():
    sizes = [
        run(SMALL.replace(learner="gd", steps=0, saturation=s)).metrics["curve_mass"][0]
        for s in (0.01, 1.0, 100.0)
    ]
    assert sizes[0] == pytest.approx(1 / SMALL.length, abs=0.01)
    assert sizes == sorted(sizes)


# The end.


@pytest.mark.parametrize(
    "change", slow_after_first([{"width": 12}, {}, {"trigger_in_values": True}]), ids=str
)
def test_the_minimum_is_where_gradient_descent_ends(change):
    """The loss is convex, and with few dimensions its minimum is at finite weights."""
    problem = SMALL.replace(length=1, samples=150, vocab=48, dim=8).replace(**change)
    found = run(problem.replace(learner="converged"), dtype="float64")
    assert found.metrics["certified"] == 1
    assert found.metrics["separable"] == 0
    momentum = {"learner": "gd", "steps": 20_000, "momentum": 0.95}
    long = run(problem.replace(**momentum), dtype="float64")
    assert long.metrics["final_loss"] == pytest.approx(found.metrics["final_loss"], abs=1e-3)
    assert long.recall_accuracy == pytest.approx(found.recall_accuracy, abs=0.005)


def test_separable_facts_are_separated():
    problem = Problem(vocab=64, samples=1000, dim=40, length=4, learner="converged")
    found = run(problem)
    assert found.metrics["separable"] == found.metrics["certified"] == 1
    seen = len(set(Instance.make(problem, 0).task.draw(0, 1000).label.tolist()))
    assert found.recall_accuracy == pytest.approx(seen / 64, abs=0.02)


def test_the_minimum_of_weighted_facts_is_found_to_the_digit():
    """Two facts with one feature: the probability of each is the fraction of its weight."""
    one = torch.ones(2, 1, dtype=torch.float64)
    found = minimum(
        one, torch.tensor([0, 1]), torch.tensor([1.0, 3.0]).double(), torch.eye(2).double()
    )
    fraction = (torch.eye(2).double() @ found.V).softmax(dim=0)[:, 0]
    assert fraction.tolist() == pytest.approx([0.25, 0.75], abs=1e-6)


def test_converged_attention_may_be_where_three_steps_left_it():
    problem = SMALL.replace(samples=100, learner="converged")
    mark, three, adam = (
        run(problem.replace(attention=where)) for where in ("mark", "three-step", "adam")
    )
    assert mark.recall_accuracy > three.recall_accuracy
    assert adam.status == "ok"


def test_the_population_is_stored_equally():
    problem = Problem(vocab=64, samples=math.inf, dim=10, length=4, learner="converged")
    assert run(problem).metrics["certified"] == 1
    with pytest.raises(ProblemError, match="needs a number of samples"):
        problem.replace(attention="three-step")


# On the way.


@pytest.mark.parametrize("learner", OPTIMISERS)
def test_every_optimiser_learns(learner):
    problem = Problem(vocab=32, samples=600, dim=24, length=4, learner=learner, steps=200)
    found = run(problem)
    assert found.recall_accuracy > 0.95
    assert found.attention_accuracy > 0.95
    curve = found.metrics["curve_loss"]
    assert curve[0] == pytest.approx(math.log(32), abs=1e-3)
    assert curve[-1] < 0.5
    assert found.metrics["ended"] in (Ended.CONVERGED, Ended.BUDGET)
    assert found.metrics["first_attention"] <= found.metrics["steps_taken"]
    steps = found.metrics["curve_step"]
    assert steps[:4] == [0, 1, 2, 3]
    assert {
        len(found.metrics[f"curve_{name}"]) for name in ("attention", "mass", "cosine", "recall")
    } == {len(steps)}


@pytest.mark.parametrize(
    "change",
    [
        {"learn_embeddings": True},
        {"width": 30, "learn_mlp": True},
        {"start": 0.01},
        {"batch": 50},
        {"batch": 50, "fresh": True},
        {"schedule": "cosine"},
        {"schedule": "warmup"},
        {"weight_decay": 1e-3},
        {"task": "memory", "length": 1},
    ],
    ids=str,
)
def test_every_way_to_train_learns(change):
    problem = Problem(vocab=32, samples=600, dim=24, length=4, learner="adam", steps=150)
    assert run(problem.replace(**change)).recall_accuracy > 0.9


def test_a_step_too_large_is_reported():
    problem = SMALL.replace(learner="gd", learning_rate=1e5, steps=50)
    found = run(problem)
    assert found.status == "ok"
    assert found.metrics["ended"] == Ended.DIVERGED
    broken = run(problem.replace(learning_rate=1e38))
    assert broken.status == "failed"
    assert "make the learning rate smaller" in broken.reason


def test_problems_that_cannot_be_trained_are_refused():
    for change, said in (
        ({"samples": math.inf}, "not inf"),
        ({"learn_mlp": True}, "give a width"),
        ({"learning_rate": -1}, "learning_rate must be"),
        ({"schedule": "step"}, "schedule must be one of constant, cosine, warmup"),
        ({"task": "memory"}, "give length=1"),
    ):
        with pytest.raises(ProblemError, match=said):
            SMALL.replace(learner="adam", **change)


# Bits.


def test_no_bit_depends_on_other_trainings_of_the_group():
    assert runs_at_once(TINY) == RUNS_AT_ONCE
    for learner, at_once in (("gd", RUNS_AT_ONCE), ("muon", 1), ("polar", 1)):
        problem = TINY.replace(learner=learner)
        assert problem.part("learner").at_once(problem) == at_once
    alone = [run(TINY, seed).result() for seed in (5, 6, 7)]
    together = [record.result() for record in run_together(TINY, range(16))]
    assert alone == together[5:8]
    assert [record.result() for record in run_together(TINY, (7, 5))] == [alone[2], alone[0]]


def test_a_tiny_training_is_watched_once_and_drawn_without_closed_forms(tmp_path):
    """Alone it fills a group with hidden copies of itself."""
    seen = []
    facts = TINY.replace(task="memory", length=1)
    found = recallscope.train(facts, watch=seen.append, progress=False)
    assert [round(each["step"]) for each in seen] == [row["step"] for row in found.rows()]
    assert found.early is None
    found.save(tmp_path / "curve.png")


def test_a_run_that_breaks_breaks_alone():
    problem = TINY.replace(learner="gd", learning_rate=1e30)
    good, *_ = run_together(TINY, (1, 2))
    assert good.status == "ok"
    records = run_together(problem, (1, 2))
    assert {record.status for record in records} == {"failed"}


def test_no_bit_depends_on_threads(threads):
    problem = SMALL.replace(learner="adam", steps=30)
    found = []
    for count in (1, 2):
        threads(count)
        found.append(run(problem).result())
    assert found[0] == found[1]


@pytest.mark.parametrize("learner", OPTIMISERS)
def test_a_training_resumes_to_the_bit(learner, tmp_path, monkeypatch):
    """It is stopped at two thirds, some steps after its last save."""
    problem = SMALL.replace(learner=learner, steps=60, samples=600)
    whole = run(problem, 2).result()
    monkeypatch.setattr("recallscope.training.loop._SECONDS_BETWEEN_SAVES", 0.0)

    def stop(done, total):
        if done == 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        module.run(problem, 2, progress=stop, checkpoint=tmp_path / "half.safetensors")
    steps = []
    again = module.run(
        problem,
        2,
        progress=lambda done, total: steps.append(done),
        checkpoint=tmp_path / "half.safetensors",
    )
    assert steps[0] == 40  # steps after the last save are repeated
    assert again.result() == whole


@pytest.mark.parametrize(
    "changed",
    [{"step": 10**6}, {"step": -1}, {"step": 1e400}, {"loss": [[0.0]]}, {"curve": []}, {"seed": 1}],
)
def test_a_forged_checkpoint_is_refused(changed, tmp_path, monkeypatch):
    """A training that began after its last step would never end."""
    monkeypatch.setattr("recallscope.training.loop._SECONDS_BETWEEN_SAVES", 0.0)
    path = tmp_path / "half.safetensors"
    problem = SMALL.replace(learner="gd", steps=5)
    module.run(problem, checkpoint=path)
    with safe_open(path, framework="pt") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    metadata["training"] = json.dumps(json.loads(metadata["training"]) | changed)
    save_file(tensors, path, metadata=metadata)
    with pytest.raises(ProblemError, match="cannot be resumed") as refusal:
        module.run(problem, checkpoint=path)
    assert "\n" not in str(refusal.value)


def test_a_checkpoint_without_a_folder_is_refused_before_training(tmp_path):
    with pytest.raises(ProblemError, match="there is no folder"):
        recallscope.train(SMALL.replace(learner="gd"), checkpoint=tmp_path / "no" / "half")


def test_a_checkpoint_of_something_else_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("recallscope.training.loop._SECONDS_BETWEEN_SAVES", 0.0)
    path = tmp_path / "half.safetensors"
    problem = SMALL.replace(learner="gd", steps=5)
    module.run(problem, checkpoint=path)
    for other, seed in ((problem.replace(dim=13), 0), (problem, 1)):
        with pytest.raises(ProblemError, match="it is of another problem, seed"):
            module.run(other, seed, checkpoint=path)
    for content in (b"", b"\x00" * 100, b"{}" * 50):
        path.write_bytes(content)
        with pytest.raises(ProblemError, match="cannot be resumed"):
            module.run(problem, checkpoint=path)
        assert path.read_bytes() == content
