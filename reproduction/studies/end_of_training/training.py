"""Recall after training, compared with three steps and with the minimum of the loss.

    end_of_training/training [ends|stable|facts] [--csv training.csv]

`facts`: recall of every learner where the literature and three steps have something to say.
`ends`: `converged` compared with long trainings, at 30 problems drawn at random below the capacity
threshold, where the loss has one minimum. `stable`: the largest step of gradient descent that does
not make the loss rise, by bisection, in units of the default. Without a name, all of them.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from recallscope import Problem, run
from recallscope.training.rates import descent_rate

SEED = 18
OPTIMISERS = ("gd", "adam", "muon")


def facts() -> Iterator[dict[str, object]]:
    """Where three steps store a third of the facts, or see too few of them."""
    edge = Problem(vocab=512, samples=8192, dim=64, length=32)
    for problem in (edge, edge.replace(dim=48, length=16)):
        for learner in ("three-step", "converged", *OPTIMISERS):
            yield measured("facts", problem.replace(learner=learner), 0)
    few = Problem(vocab=256, samples=256, dim=48, length=64)
    for samples in (256, 512, 1024):
        for learner in ("three-step", "converged", *OPTIMISERS):
            for seed in (0, 1):
                yield measured("facts", few.replace(samples=samples, learner=learner), seed)


def ends() -> Iterator[dict[str, object]]:
    """Below the capacity threshold; one token to a sequence, so attention has nothing to learn."""
    random = np.random.default_rng(SEED)
    for number in range(30):
        vocab = int(random.integers(48, 257))
        mlp = number % 3 == 2
        share = random.uniform(0.5, 0.85)  # of d²/(V ln V), or m·d/(V ln V): the threshold is ~1
        parameters = share * vocab * math.log(vocab)
        dim = round(math.sqrt(parameters / (2 if mlp else 1)))
        problem = Problem(
            vocab=vocab,
            samples=int(vocab * random.uniform(1.5, 8)),
            dim=dim,
            length=1,
            width=max(round(0.35 * parameters / dim), 4) if mlp else None,
        )
        yield measured("ends", problem.replace(learner="converged"), number, "float64")
        for learner, steps, more in (
            ("gd", 20_000, {"momentum": 0.97}),
            ("adam", 2000, {"schedule": "cosine"}),
            ("muon", 2000, {"schedule": "cosine"}),
        ):
            longer = problem.replace(learner=learner, steps=steps, **more)
            yield measured("ends", longer, number, "float64")


def stable() -> Iterator[dict[str, object]]:
    """The largest step after which the last loss is not 2 % above the lowest that was seen."""
    for sizes in (
        {"vocab": 512, "samples": 2048, "dim": 48, "length": 16},
        {"vocab": 256, "samples": 2048, "dim": 36, "length": 16},
        {"vocab": 256, "samples": 1024, "dim": 24, "length": 4},
    ):
        problem = Problem(**sizes, learner="gd", steps=200)
        low, high = 1.0, 64.0
        while high / low > 1.1:
            middle = math.sqrt(low * high)
            rate = middle * descent_rate(problem)
            found = run(problem.replace(learning_rate=rate), 0)
            losses = found.metrics.get("curve_loss", [math.inf])
            calm = found.status == "ok" and losses[-1] <= 1.02 * min(losses)
            low, high = (middle, high) if calm else (low, middle)
        for share in (low, 4 * high):
            row = measured(
                "stable", problem.replace(learning_rate=share * descent_rate(problem)), 0
            )
            yield row | {"share_of_default": share}


def measured(study: str, problem: Problem, seed: int, dtype: str = "float32") -> dict[str, object]:
    """One run, as a row."""
    started = time.process_time()
    record = run(problem, seed, dtype=dtype)
    seen = len(set(samples_of_labels(problem, seed)))
    row = {
        "study": study,
        **{name: getattr(problem, name) for name in ("vocab", "samples", "dim", "length", "width")},
        "learner": problem.learner,
        "seed": seed,
        "status": str(record.status),
        "recall": record.recall_accuracy,
        "attention": record.attention_accuracy,
        "facts_seen": seen / problem.vocab,
        "loss": record.metrics.get("final_loss"),
        "steps": record.metrics.get("steps_taken"),
        "ended": record.metrics.get("ended"),
        "certified": record.metrics.get("certified"),
        "separable": record.metrics.get("separable"),
        "rate": record.metrics.get("rate_used"),
        "share_of_default": None,
        "cpu_seconds": round(time.process_time() - started, 2),
    }
    print({name: value for name, value in row.items() if value is not None}, flush=True)
    return row


def samples_of_labels(problem: Problem, seed: int) -> list[int]:
    """The labels of the batch."""
    from recallscope.task.kind import samples_of

    return list(samples_of(problem, seed).draw(0, int(problem.samples)).label)


STUDIES = {"facts": facts, "ends": ends, "stable": stable}


def main() -> None:
    """Run what was asked for, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", metavar="STUDY")
    parser.add_argument("--csv", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rows = [row for name in asked.studies or STUDIES for row in STUDIES[name]()]
    if asked.csv:
        with asked.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
