"""The speed of a training relative to a bare loop; and of many tiny ones at once to one by one.

    speed/training_speed [--csv training_speed.csv]

The bare loop is the same model on the same samples as one would write it with torch: a weighted sum
of embeddings by `embedding_bag`, cross-entropy of all logits, the same optimiser, nothing logged.
All on one thread, in turns, by CPU time.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import time
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from recallscope import Instance, Problem
from recallscope.experiment.experiment import run_together
from recallscope.model.setup import Setup
from recallscope.training.rates import adam_rate
from reproduction.studies.speed.turns import Ratio, load_average, take_turns

TURNS = 10
STEPS = 60
PROBLEMS = [
    Problem(vocab=512, samples=8192, dim=64, length=32, learner="adam", steps=STEPS),
    Problem(vocab=256, samples=1024, dim=48, length=64, learner="adam", steps=5 * STEPS),
    Problem(vocab=1024, samples=4096, dim=96, length=8, width=384, learner="adam", steps=STEPS),
]
TINY = Problem(vocab=64, samples=256, dim=16, length=4, learner="adam", steps=400)


def bare_loop(problem: Problem, seed: int) -> Tensor:
    """The training as one would write it; from samples in memory to the last loss."""
    instance = Instance.make(problem, seed, dtype="float32")
    drawn = instance.task.draw(0, int(problem.samples))
    tokens, position, label = (torch.from_numpy(array) for array in drawn)
    place = position[:, None]
    V = torch.zeros(problem.dim, problem.hidden, requires_grad=True)
    W = torch.zeros(problem.dim, problem.dim, requires_grad=True)
    optimiser = torch.optim.Adam([V, W], lr=adam_rate(problem))
    for _ in range(problem.steps):
        optimiser.zero_grad()
        asked = W @ instance.end
        bonus = (instance.trigger @ asked).expand(len(tokens), 1)
        scores = (instance.tokens @ asked)[tokens].scatter_add(1, place, bonus)
        read = functional.embedding_bag(
            tokens, instance.tokens, per_sample_weights=scores.softmax(dim=1), mode="sum"
        )
        if instance.hidden_weights is not None:
            read = torch.relu(read @ instance.hidden_weights.T)
        loss = functional.cross_entropy(read @ V.T @ instance.outputs.T, label)
        loss.backward()
        optimiser.step()
    return loss.detach()


def ours(problem: Problem, seed: int) -> None:
    """The same steps by the training of this package, with what it looks at along the way."""
    setup = Setup(problem=problem, seed=seed, dtype="float32", test_samples=64)
    problem.part("learner").learn(setup)


def main() -> None:
    """Time everything, print and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--csv", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for problem in PROBLEMS:
        ways = {"bare": lambda p=problem: bare_loop(p, 0), "training": lambda p=problem: ours(p, 0)}
        seconds = take_turns(ways, TURNS, time.process_time, lambda done, total: None)
        ratio = Ratio.of_turns(seconds["bare"], seconds["training"])
        rows.append(row_of("bare over training", problem, ratio))
    ways = {
        "one by one": lambda: [bare_loop(TINY, seed) for seed in range(16)],
        "at once": lambda: run_together(TINY, range(16), test_samples=64),
    }
    seconds = take_turns(ways, TURNS, time.process_time, lambda done, total: None)
    rows.append(
        row_of(
            "16 bare, one by one, over 16 at once",
            TINY,
            Ratio.of_turns(seconds["one by one"], seconds["at once"]),
        )
    )
    for row in rows:
        print(row)
    if asked.csv:
        with asked.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


def row_of(what: str, problem: Problem, ratio: Ratio) -> dict[str, object]:
    """One row."""
    sizes = {
        name: getattr(problem, name) for name in ("vocab", "samples", "dim", "length", "width")
    }
    return {
        "ratio": what,
        **sizes,
        "steps": problem.steps,
        **dataclasses.asdict(ratio),
        "load": load_average(),
    }


if __name__ == "__main__":
    main()
