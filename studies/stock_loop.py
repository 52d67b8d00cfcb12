"""Is training a stock GPT-2 here as fast as a bare loop of PyTorch on the same batches?

    python studies/stock_loop.py        # ten turns, CPU time; prints the ratio

The bare loop neither looks at the training nor tests it; ours does both. One thread.
"""

from __future__ import annotations

import time

import torch
from torch.nn import functional
from turns import Ratio

from recallscope import Problem, run
from recallscope.learning.learner import Setup
from recallscope.learning.training.batches import Batches
from recallscope.models.input_ids import input_ids

TURNS = 10
PROBLEM = Problem(
    vocab=64,
    samples=4096,
    dim=64,
    length=8,
    model="huggingface",
    config={"model_type": "gpt2", "n_layer": 2, "n_head": 2},
    trigger="marked-id",
    learner="adamw",
    batch=128,
    steps=600,
    learning_rate=1e-4,  # small: it must not converge early
)


def ours() -> float:
    started = time.process_time()
    record = run(PROBLEM, seed=0)
    assert record.metric("steps_taken") == PROBLEM["steps"]
    return time.process_time() - started


def bare() -> float:
    started = time.process_time()
    setup = Setup(problem=PROBLEM, seed=0, dtype="float32")
    batches, model = Batches([setup]), setup.model().model
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.train()
    for step in range(PROBLEM["steps"]):
        tokens, position, label = (each[0] for each in batches.of_step(step))
        optimiser.zero_grad()
        logits = model(input_ids(tokens, position, PROBLEM.vocab, "marked-id")).logits
        functional.cross_entropy(logits[:, -1, : PROBLEM.vocab], label).backward()
        optimiser.step()
    return time.process_time() - started


if __name__ == "__main__":
    torch.set_num_threads(1)
    bare()
    times = [(bare(), ours()) for _ in range(TURNS)]
    print("speed of ours over that of the bare loop:", Ratio.of_turns(*zip(*times, strict=True)))
