"""The endless batch: finite batches must converge to it, at the root of their size."""

from __future__ import annotations

import math

import pytest
import torch

from recallscope import Problem, Workers, World, learn, run

ATTENTION = {"vocab": 60, "dim": 32, "length": 6}
SEED = 3


def learnt(problem):
    with Workers() as workers, torch.no_grad():
        return learn(World.make(problem, SEED), workers)


def distances(problem, sizes):
    """For each size the relative distance of V1, α and V2 from those of the endless batch."""
    endless = learnt(problem)
    rows = []
    for size in sizes:
        finite = learnt(problem.replace(samples=size))
        rows.append(
            [
                float((getattr(finite, name) - whole).norm() / whole.norm())
                for name, whole in vars(endless).items()
            ]
        )
    return torch.tensor(rows)


@pytest.mark.parametrize(
    "change",
    [{}, {"trigger_in_values": True}, {"embedding": "gaussian"}, {"length": 1}, {"length": 2}],
    ids=str,
)
def test_attention_alone_converges_at_the_root_of_the_batch(change):
    problem = Problem(**ATTENTION | change, samples=math.inf)
    sizes = [4**k * 1000 for k in range(6)]
    errors = distances(problem, sizes)
    steps = torch.tensor([math.log(size) for size in sizes], dtype=torch.float64)
    names = ("V1", "alpha", "V2") if problem.length > 1 else ("V1", "V2")
    for name in names:
        error = errors[:, ("V1", "alpha", "V2").index(name)].double().log()
        slope = ((steps - steps.mean()) * error).sum() / ((steps - steps.mean()) ** 2).sum()
        assert float(slope) == pytest.approx(-0.5, abs=0.1), name
        assert error[-1] < math.log(0.05), name


def test_partly_locked_attention_agrees_with_a_huge_batch():
    """Here the marked token often loses, so every part of the third step is seen."""
    problem = Problem(vocab=40, samples=math.inf, dim=6, length=12)
    endless = run(problem, SEED, test_samples=20_000)
    assert 0.1 < endless.lock_accuracy < 0.95
    with Workers() as workers, torch.no_grad():
        world = World.make(problem, SEED)
        whole = learn(world, workers)
        # The same attention vector on both sides: near a tie it would decide the third step.
        from recallscope.learning import stream
        from recallscope.learning.three_step import training_batch

        finite = World.make(problem.replace(samples=2_000_000), SEED)
        V2 = stream.second_value(finite, training_batch(finite, workers), whole.V1, whole.alpha)
    assert float((V2 - whole.V2).norm() / whole.V2.norm()) < 0.01


@pytest.mark.parametrize(
    ("activation", "trigger"), [("relu", False), ("tanh", True), ("gelu", False)]
)
def test_the_mlp_converges_down_to_the_error_of_the_balanced_batch(activation, trigger):
    """4,369 sets of other tokens: about 1.5 % of V1, measured 1 to 3 % of V1, α and V2."""
    problem = Problem(
        **ATTENTION,
        samples=math.inf,
        width=40,
        activation=activation,
        trigger_in_values=trigger,
    )
    errors = distances(problem, [10**4, 10**5, 10**6])
    assert (errors[0] > errors[1]).all()
    assert (errors[2] < 0.04).all()


def test_the_record_of_a_huge_batch_is_that_of_the_endless_one():
    problem = Problem(vocab=200, samples=math.inf, dim=40, length=8)
    endless, huge = run(problem, 0), run(problem.replace(samples=4_000_000), 0)
    for name in ("lock_accuracy", "recall_accuracy", "one_step_accuracy"):
        assert getattr(huge, name) == pytest.approx(getattr(endless, name), abs=0.02)
    for name in ("score_signal", "score_noise", "trigger_cosine", "first_value_cosine"):
        assert getattr(huge, name) == pytest.approx(getattr(endless, name), rel=0.01)
    assert endless.first_value_cosine == pytest.approx(endless.second_value_cosine, abs=1e-9)
