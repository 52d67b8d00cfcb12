"""How many steps a memory takes: the law, predict, solve and plan, and a training."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from recallscope import Problem, plan, predict, run, solve
from recallscope.cli.main import app
from recallscope.theory.exposures import LEARNERS, TARGETS, recall_after, steps_to
from recallscope.theory.scope import scope

MEMORY = Problem(vocab=256, samples=256, dim=55, length=1, task="memory", learner="adam", steps=40)


@pytest.mark.parametrize("learner", LEARNERS)
def test_steps_fall_with_parameters_and_rise_with_the_target(learner):
    for target in TARGETS:
        steps = [steps_to(target, learner, 256, filled) for filled in (1.1, 1.3, 1.6, 2, 3, 8)]
        assert np.all(np.diff(steps) <= 0)
    for batches in (1,) if learner == "gd" else (1, 8):
        steps = [steps_to(target, learner, 256, 1.5, batches) for target in TARGETS]
        assert np.all(np.diff(steps) > 0)
        recalls = [recall_after(each, learner, 256, 1.5, batches) for each in steps]
        assert recalls == pytest.approx(TARGETS, abs=0.01)


@pytest.mark.parametrize("learner", ["sgd", "adam", "muon"])
def test_small_batches_take_more_steps_and_fewer_passes_by_adam(learner):
    steps = np.array([steps_to(0.9, learner, 256, 1.6, batches) for batches in (1, 2, 8, 32)])
    assert np.all(np.diff(steps) > 0)
    if learner != "sgd":
        assert np.all(np.diff(steps / [1, 2, 8, 32]) < 0)


def test_recall_rises_with_steps():
    recalls = [predict(MEMORY.replace(steps=steps)).recall_accuracy for steps in (0, 2, 20, 200)]
    assert np.all(np.diff(recalls) > 0)
    assert recalls[-1] > 0.99


def test_a_training_takes_about_as_many_steps():
    """At twice the parameters of the threshold, between half and twice as many."""
    record = run(MEMORY.replace(steps=200), 7, test_samples=512)
    steps, recalls = (np.array(record.metrics[f"curve_{each}"]) for each in ("step", "recall"))
    expected = predict(MEMORY).quantities["steps_to_0.9"]
    assert expected / 2 < steps[np.argmax(recalls >= 0.9)] < 2 * expected


def test_the_answer_has_steps_passes_and_an_interval():
    found = predict(MEMORY.replace(batch=64))
    assert found.law == "after-steps"
    recall = found.estimates["recall_accuracy"]
    assert 0 <= recall.low < recall.value < recall.high <= 1
    assert found.quantities["passes_to_0.9"] == pytest.approx(found.quantities["steps_to_0.9"] / 4)
    assert solve(MEMORY, "steps", 0.9).value == pytest.approx(
        predict(MEMORY).quantities["steps_to_0.9"], abs=1.5
    )


@pytest.mark.parametrize(
    "changes",
    [{"dim": 36}, {"weight_decay": 0.1}, {"learning_rate": 0.5}, {"width": 64}],
)
def test_no_law_where_an_assumption_fails(changes):
    assert predict(MEMORY.replace(**changes)).law != "after-steps"


def test_a_learner_without_batches_has_the_law_too():
    assert predict(MEMORY.replace(learner="gd")).law == "after-steps"


def test_many_batches_are_extrapolated():
    found = predict(MEMORY.replace(batch=4))
    assert found.extrapolated == ["64 batches in a pass > 32"]


def test_engineers_are_given_exposures():
    said = CliRunner().invoke(
        app, ["plan", "--method", "memory", "--facts", "500", "--d-model", "64"]
    )
    assert "exposures of each fact to recall 0.9" in " ".join(said.output.split())
    near = plan(method="memory", d_model=64, facts=500).laws[0].capacity.exposures
    far = plan(method="memory", d_model=96, facts=500).laws[0].capacity.exposures
    assert near is not None
    assert far is not None
    assert far.value < near.value
    assert plan(method="memory", d_model=56, facts=500).laws[0].capacity.exposures is None


def test_both_layers_of_an_mlp_have_a_law():
    sizes = {"vocab": 256, "samples": 256, "dim": 16, "length": 1, "width": 32}
    both = Problem(**sizes, task="memory", learner="adam", learn_mlp=True)
    found = predict(both)
    assert found.law == "both-layers"
    recalls = [predict(both.replace(width=width)).recall_accuracy for width in (8, 16, 24, 32, 48)]
    assert np.all(np.diff(recalls) > 0)
    assert recalls[-1] > 0.99
    assert predict(both.replace(steps=10)).law is None
    assert predict(both.replace(activation="tanh")).law is None
    assert "a trained MLP of width 32" in scope(both)


@pytest.mark.parametrize(("width", "low", "high"), [(20, 0.2, 0.65), (44, 0.97, 1)])
def test_recall_of_both_layers_is_as_measured(width, low, high):
    """A few seeds away from the threshold, 128 facts."""
    sizes = {"vocab": 128, "samples": 128, "dim": 9, "length": 1, "width": width}
    problem = Problem(**sizes, task="memory", learner="adam", learn_mlp=True)
    found = [run(problem, seed, test_samples=512).recall_accuracy for seed in range(2)]
    assert low < np.mean(found) <= high
    assert low < predict(problem).recall_accuracy <= high
