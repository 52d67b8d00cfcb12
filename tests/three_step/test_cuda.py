"""On a GPU: `pytest -m cuda`. These tests have not been run yet, for lack of a GPU."""

from __future__ import annotations

import pytest
import torch

from recallscope import Problem, Status, run

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU"),
]
SMALL = Problem(vocab=64, samples=512, dim=32, length=4)


@pytest.mark.parametrize(
    "problem",
    [
        SMALL,
        SMALL.replace(width=64),
        SMALL.replace(learner="adam", steps=50),
        SMALL.replace(model="gpt", learner="adamw", steps=50),
    ],
    ids=["three-step", "mlp", "adam", "gpt"],
)
def test_a_run_on_a_gpu_agrees_with_one_on_a_cpu(problem):
    there, here = (run(problem, seed=0, device=device) for device in ("cuda", "cpu"))
    assert there.status is Status.OK, there.reason
    assert there.recall_accuracy == pytest.approx(here.recall_accuracy, abs=0.03)
