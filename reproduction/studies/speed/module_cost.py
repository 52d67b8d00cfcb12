"""How far the predicted time of a training is from the measured one, for random modules.

    speed/module_cost        # writes module_cost.csv

Twenty stock encoders of random sizes over ids, each trained by a random optimiser.
"""

from __future__ import annotations

import csv
import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import nn

from recallscope import Model, Problem, problem_field, run
from recallscope.model.setup import Setup
from recallscope.three_step.cost import predict_cost
from reproduction.studies.random_problems.design import draw_size

SEED, COUNT = 20261120, 20
TABLE = Path(__file__).with_suffix(".csv")


@dataclass(frozen=True)
class Encoder(Model):
    """Layers of torch over a table of ids, with a linear readout."""

    name = "encoder"
    reads_ids = True

    layers: int = problem_field(1, low=1)
    heads: int = problem_field(1, low=1)

    def build(self, setup: Setup) -> nn.Module:
        problem = setup.problem
        layer = nn.TransformerEncoderLayer(
            problem.dim, self.heads, 4 * problem.dim, batch_first=True
        )
        return nn.Sequential(
            nn.Embedding(problem.vocab + 2, problem.dim),
            nn.TransformerEncoder(layer, self.layers, enable_nested_tensor=False),
            nn.Linear(problem.dim, problem.vocab),
        ).to(setup.instance.tokens.dtype)


def draw(rng: np.random.Generator) -> tuple[Problem, int, int]:
    layers, heads = int(rng.integers(1, 5)), int(rng.choice([1, 2, 4]))
    learner = str(rng.choice(["adam", "adamw", "sgd", "muon"]))
    problem = Problem(
        vocab=draw_size(rng, 32, 2048),
        samples=draw_size(rng, 64, 1024),
        dim=heads * draw_size(rng, 4, 32),
        length=draw_size(rng, 2, 32),
        model=Encoder(layers=layers, heads=heads),
        learner=learner,
        batch=draw_size(rng, 8, 256),
        steps=draw_size(rng, 20, 200),
    )
    return problem, layers, heads


def main() -> None:
    rng, rows = np.random.default_rng(SEED), []
    for number in range(COUNT):
        problem, layers, heads = draw(rng)
        predicted = predict_cost(problem, test_samples=1024)
        started = time.perf_counter()
        record = run(problem, test_samples=1024)
        measured = time.perf_counter() - started
        assert record.status == "ok", record.reason
        # One that converges takes fewer steps than it may.
        share = (record.metric("steps_taken") + 1) / (problem["steps"] + 1)
        ratio = measured / (share * predicted.seconds)
        sizes = {name: getattr(problem, name) for name in ("vocab", "samples", "dim", "length")}
        times = {"predicted": predicted.seconds, "measured": measured, "ratio": ratio}
        rows.append(
            sizes
            | {"layers": layers, "heads": heads, "learner": problem.learner}
            | {"batch": problem["batch"], "steps": problem["steps"]}
            | {name: f"{value:.3f}" for name, value in times.items()}
        )
        print(number, rows[-1], flush=True)
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    within = sum(abs(math.log(float(row["ratio"]))) < math.log(2) for row in rows)
    print(f"within a factor of 2: {within} of {COUNT}")


if __name__ == "__main__":
    main()
