"""Twenty problems, and the numbers that must not change unless a change is meant to change them."""

from __future__ import annotations

import math
import platform
import re
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from recallscope import Embeddings, Problem, critical, predict, run, solve

SEEDS = (0, 1, 2)
TESTS = 256
RESULTS = (
    *(
        "attention_accuracy",
        "recall_accuracy",
        "first_gradient_accuracy",
        "score_signal",
        "score_noise",
    ),
    *("trigger_cosine", "first_value_cosine", "second_value_cosine"),
)
ENDS = ("value", "low", "high", "log_mean", "log_sd", "evaluations")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of one problem."""

    problem: Problem
    engines: tuple[str, ...] = ("auto",)
    dtype: str = "float32"
    embeddings: Embeddings | None = None
    search: dict[str, Any] = field(default_factory=dict)
    """The arguments of `critical`; none for no search."""
    solve: tuple[str, float] | None = None
    """The size that `solve` is asked for, and the recall it is to reach."""


def given_embeddings() -> Embeddings:
    """Arrays of a user's, with a mean and rows of unequal lengths."""
    rng = np.random.default_rng(7)
    lengths = 1 + 0.2 * rng.standard_normal((64, 1))
    return Embeddings(
        tokens=lengths * (rng.standard_normal((64, 48)) / 7 + 0.03),
        outputs=rng.standard_normal((64, 48)) / 7,
        trigger=rng.standard_normal(48) / 7,
        end=rng.standard_normal(48) / 7,
    )


BOTH = ("stream", "counts")
GIVEN = given_embeddings()
SIZES: dict[str, Any] = {"vocab": 64, "samples": 1024, "dim": 48, "length": 6}
SMALL: dict[str, Any] = {"vocab": 24, "samples": 96, "dim": 16, "length": 3}
SEARCH: dict[str, Any] = {"quantity": "samples", "seed": 5, "prior": 700.0, "budget": 14}

ASKED: dict[str, Asked] = {
    "attention alone": Asked(
        problem=Problem(**SIZES), engines=BOTH, search=SEARCH, solve=("samples", 0.5)
    ),
    "attention alone in float64": Asked(
        problem=Problem(**SIZES | {"length": 12}),
        engines=BOTH,
        dtype="float64",
        search=SEARCH | {"quantity": "dim", "prior": 40.0},
        solve=("dim", 0.6),
    ),
    "gaussian embeddings": Asked(
        problem=Problem(**SIZES, embedding="gaussian"), engines=BOTH, solve=("length", 0.5)
    ),
    "rademacher embeddings": Asked(problem=Problem(**SIZES, embedding="rademacher"), engines=BOTH),
    "orthogonal embeddings": Asked(
        problem=Problem(**SIZES | {"dim": 80}, embedding="orthogonal"), engines=BOTH
    ),
    "structured embeddings": Asked(
        problem=Problem(
            **SIZES, embedding="structured", common_mean=0.3, spectrum=0.5, tied=0.4, clusters=8
        ),
        engines=BOTH,
    ),
    "given embeddings": Asked(
        problem=Problem(**SIZES, embedding=GIVEN.name), engines=BOTH, embeddings=GIVEN
    ),
    "trigger in values": Asked(
        problem=Problem(**SIZES, trigger_in_values=True), engines=BOTH, solve=("vocab", 0.4)
    ),
    "unequal facts": Asked(
        problem=Problem(
            **SIZES,
            frequencies="zipf",
            zipf_exponent=0.8,
            distractor_frequencies="uniform",
            metrics=("recall-by-frequency", "half-recall-frequency"),
        ),
        engines=BOTH,
    ),
    "an MLP": Asked(
        problem=Problem(**SIZES, width=96),
        engines=("stream",),
        search=SEARCH | {"quantity": "width", "prior": 90.0, "target": 0.4},
        solve=("width", 0.4),
    ),
    "an MLP with a bent activation": Asked(
        problem=Problem(**SIZES, width=64, activation="gelu", embedding="gaussian"),
        engines=("stream",),
    ),
    "population": Asked(problem=Problem(**SIZES | {"samples": math.inf}), solve=("dim", 0.7)),
    "population with an MLP": Asked(
        problem=Problem(**SIZES | {"samples": math.inf}, width=40, activation="tanh")
    ),
    "literal steps": Asked(problem=Problem(**SIZES, regime="literal", eta=0.5, gamma=40.0)),
    "literal steps with an MLP": Asked(
        problem=Problem(**SMALL, width=24, regime="literal", eta=0.5, gamma=20.0)
    ),
    "the end of training": Asked(
        problem=Problem(**SMALL, learner="converged"), solve=("samples", 0.5)
    ),
    "Adam in batches": Asked(problem=Problem(**SMALL, learner="adam", steps=40, batch=16)),
    "Muon on a small GPT": Asked(
        problem=Problem(**SMALL, model="gpt", learner="muon", steps=12, heads=2, trigger="token")
    ),
    "biographies": Asked(
        problem=Problem(
            vocab=8,
            samples=80,
            dim=16,
            length=4,
            task="biographies",
            model="gpt",
            learner="adamw",
            steps=12,
            metrics=("bits-per-parameter",),
        )
    ),
    "pairs in a memory": Asked(
        problem=Problem(
            **SMALL | {"length": 1}, task="memory", learner="gd", steps=20, metrics=("recall-at-k",)
        )
    ),
}


def made_by() -> dict[str, str]:
    """The versions and the processor on which the same numbers are the same to the bit."""
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    processor = found.group(1) if found else platform.processor()
    return {
        "processor": f"{processor}, {torch.backends.cpu.get_cpu_capability()}",
        **{name: version(name) for name in ("numpy", "scipy", "torch")},
    }


def numbers_of(asked: Asked) -> dict[str, Any]:
    """All numbers of one problem, by what was asked."""
    problem, embeddings = asked.problem, asked.embeddings
    found: dict[str, Any] = {"predict": dict(predict(problem, embeddings=embeddings).accuracies)}
    for engine in asked.engines:
        how: dict[str, Any] = {"engine": engine, "dtype": asked.dtype, "embeddings": embeddings}
        records = [run(problem, seed, test_samples=TESTS, **how) for seed in SEEDS]
        found[f"run {engine}"] = [
            {name: getattr(record, name) for name in RESULTS} | dict(record.metrics)
            for record in records
        ]
    if asked.search:
        size = critical(problem, **asked.search, test_samples=TESTS)
        found["critical"] = {name: getattr(size, name) for name in ENDS}
    if asked.solve is not None:
        quantity, target = asked.solve
        found["solve"] = solve(problem, quantity, target).value
    return found
