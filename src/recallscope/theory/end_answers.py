"""What the laws of the end of training share: their answers, and how they were judged."""

from __future__ import annotations

import csv
import math
from collections.abc import Container, Sequence
from functools import cache
from importlib.resources import files

import numpy as np

from recallscope.parts.naming import find_part
from recallscope.problem import Problem
from recallscope.theory.end_law import FOUND, end_of_training
from recallscope.theory.law import Answer, Factor, Given, Ranges
from recallscope.theory.recorded_error import ComparedProblem, RecordedError, error_of_nearest
from recallscope.theory.tested_range import outside

MEASURED: Ranges = {
    "vocab": (64, 512),
    "dim": (5, 125),
    "length": (2, 128),
    "samples per fact": (0.25, 32),
}
"""Where the law of gd, adam and muon was found and judged, with d below V."""

_SIZES = ("vocab", "samples", "dim", "length")
_UNSOLVED = (
    "no law of training at these sizes: the equations of its memory were not solved; "
    "choose a dim further from the edge, or more even sizes"
)


def refusal(problem: Problem, ranges: Ranges, **plain: object) -> str | None:
    """Why no law is about sizes outside of ranges, or options that are not as they were measured.

    >>> refusal(Problem(vocab=10**6, samples=10**7, dim=64, length=8, learner="adam"), MEASURED)
    'no law of training at vocab 1000000 > 512'
    """
    other = outside(problem, ranges)
    if problem.dim >= problem.vocab:
        other.append(f"dim {problem.dim} >= vocab {problem.vocab}")
    plain |= {"regime": "limit", "model": "transformer", "embedding": "sphere"}
    plain["trigger_in_values"] = False
    fields = find_part("learner", problem.learner).fields
    plain |= {name: field.default for name, field in fields.items()}
    found = [name for name, value in plain.items() if getattr(problem, name) != value]
    if problem.activation not in (None, "relu"):
        found.append("activation")
    other += [f"{name} {getattr(problem, name)}" for name in found]
    return f"no law of training at {'; '.join(other)}" if other else None


def predict_end(problems: Sequence[Problem], given: Given) -> list[Answer]:
    answers = []
    for place, problem in enumerate(problems):
        given.progress(place, len(problems))
        answers.append(_answer(problem))
    return answers


def _answer(problem: Problem) -> Answer:
    end = end_of_training(problem)
    if math.isnan(end.memory):
        return Answer(reason=_UNSOLVED)
    learns = problem.learner in FOUND
    return Answer(
        accuracies={"recall_accuracy": end.recall, "lock_accuracy": end.lock},
        factors={
            "lock_accuracy": Factor(end.lock, "fitted law" if learns else "given"),
            "facts_seen": Factor(end.facts_seen, "how often facts are drawn"),
            "memory_accuracy": Factor(end.memory, "derived; its edge is right to a few per cent"),
        },
        quantities={"parameters": end.parameters, "edge": end.edge.parameters},
    )


def recorded_error_of_end(problem: Problem, accuracy: str, expected: float) -> RecordedError | None:
    """At the trainings by the same learner whose sizes, and whose predicted recall, are nearest."""
    if accuracy != "recall_accuracy":
        return None
    rows = [row for row in trainings() if row["learner"] == problem.learner]
    samples = min(problem.samples, MEASURED["samples per fact"][1] * problem.vocab)
    here = np.log([problem.vocab, samples, problem.dim, problem.length])
    known = np.log([[float(row[name]) for name in _SIZES] for row in rows])
    predicted, recall = (
        np.array([float(row[name]) for row in rows]) for name in ("predicted", "recall")
    )
    # A factor of e in every size weighs as much as 0.2 in recall.
    distance = ((predicted - expected) / 0.2) ** 2 + np.mean((known - here) ** 2, axis=1)
    return error_of_nearest(distance, predicted - recall)


def training_comparisons(learners: Container[str]) -> list[ComparedProblem]:
    """The trainings by some learners, each with what was predicted of its recall."""
    return [
        ComparedProblem(
            Problem.from_dict(
                {name: int(row[name]) for name in _SIZES} | {"learner": row["learner"]}
            ),
            {"recall_accuracy": float(row["predicted"])},
            {"recall_accuracy": float(row["recall"])},
        )
        for row in trainings()
        if row["learner"] in learners
    ]


@cache
def trainings() -> list[dict[str, str]]:
    """The trainings that the law as it is was compared with: not those of the first law."""
    with files("recallscope.theory").joinpath("trained.csv").open() as file:
        return [row for row in csv.DictReader(file) if row["study"] != "sealed"]


def explain_end(problem: Problem, answer: Answer) -> str:
    parameters, edge = answer.quantities["parameters"], answer.quantities["edge"]
    full = "more" if parameters > edge else "fewer"
    return (
        f"At the end of training recall is the product of the factors. The memory has {parameters} "
        f"parameters, {full} than the {edge:.0f} that hold every fact that attention finds."
    )
