"""Trainings under conditions that once gave wrong records: each test was red before its fix."""

from __future__ import annotations

import pytest

from recallscope import Problem, run
from recallscope.experiment import run as module
from recallscope.experiment.run import run_together
from recallscope.learning.learner import Setup
from recallscope.learning.training.batches import Batches
from recallscope.parts.naming import find_part

SMALL = Problem(vocab=16, samples=40, dim=8, length=3, learner="sgd", steps=12)


def stopped_and_resumed(problem, at, path, monkeypatch, seed=0):
    """The result of a training that was interrupted at a step, and of the rest of it."""
    monkeypatch.setattr("recallscope.learning.training.loop._SECONDS_BETWEEN_SAVES", 0.0)

    def stop(done, total):
        if done == at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        module.run(problem, seed, progress=stop, checkpoint=path)
    return module.run(problem, seed, checkpoint=path).result()


# Parts of the samples.


@pytest.mark.parametrize("samples", [33, 40, 63, 64, 65, 96, 100])
def test_a_step_has_as_many_samples_as_asked_for(samples):
    """A batch of 32, of anything from a few more samples to three times as many and a rest."""
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


def test_versions_say_whose_records_changed():
    versions = {
        name: find_part("learner", name).version
        for name in ("gd", "sgd", "adam", "adamw", "muon", "polar", "converged", "three-step")
    }
    changed = ("sgd", "adam", "adamw", "muon", "polar")
    assert versions == {name: 1 + (name in changed) for name in versions}
