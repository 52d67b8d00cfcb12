"""What the law of the end says of one problem, as a result; silent where it was not measured."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from recallscope.parts.naming import find_part
from recallscope.plotting.labels import describe_common_fields
from recallscope.plotting.panels import Kind, Panel, Picture, Series
from recallscope.plotting.result import Drawing, Result, picture_drawing
from recallscope.problem import Problem, ProblemError
from recallscope.theory.end_law import TRAINED, end_of_training
from recallscope.theory.recorded_error import RecordedError, error_of_nearest
from recallscope.theory.tested_range import outside

MEASURED = {
    "vocab": (64, 512),
    "dim": (5, 125),
    "length": (2, 128),
    "samples per fact": (0.25, 32),
}
"""Where the law of gd, adam and muon was found and judged, with d below V."""

MEMORY = {"vocab": (64, 4096), "dim": (5, 512), "width per dim": (0.8, 9)}
"""Where the minimum was, of facts that are all seen."""

_UNSOLVED = (
    "no law of training at these sizes: the equations of its memory were not solved; "
    "choose a dim further from the edge, or more even sizes"
)
_NUMBERS = ("lock_accuracy", "facts_seen", "memory_accuracy", "recall_accuracy")


@dataclass(frozen=True, kw_only=True, repr=False)
class EndPrediction(Result):
    """Recall at the end of training, and the three things that it is the product of.

    Attributes:
        recall_accuracy: lock_accuracy × facts_seen × memory_accuracy.
        lock_accuracy: how often attention finds the mark: a measured law.
        facts_seen: the share of facts that are in the batch at all.
        memory_accuracy: the share of those that the memory recalls: derived.
        parameters: of the memory: d², or m·d with an MLP.
        edge: parameters with which it would hold every fact that attention finds, half of the time.
        reason: why there is no prediction: then the rest is None.

    >>> from recallscope.theory.end_prediction import predict_end
    >>> predict_end(Problem(vocab=256, samples=512, dim=48, length=8, learner="adam"))
    predicted recall after training 0.86...: attention finds the mark 0.99... × ...
    """

    problem: Problem
    recall_accuracy: float | None = None
    lock_accuracy: float | None = None
    facts_seen: float | None = None
    memory_accuracy: float | None = None
    parameters: int | None = None
    edge: float | None = None
    reason: str | None = None

    @property
    def recorded_error(self) -> RecordedError:
        """How far off the law was at the trained problems nearest to this one."""
        return _recorded_error(self.problem, self.recall_accuracy or 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        problem = {"problem": self.problem.to_dict() | {"key": self.problem.key}}
        if self.recall_accuracy is None:
            return problem | {"end_of_training": None, "reason": self.reason}
        numbers = {name: getattr(self, name) for name in (*_NUMBERS, "parameters", "edge")}
        return problem | {
            "end_of_training": numbers,
            "recorded_error": self.recorded_error._asdict(),
        }

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> EndPrediction:
        """The inverse of `to_dict`."""
        problem = Problem.from_dict(told["problem"])
        if told["end_of_training"] is None:
            return cls(problem=problem, reason=told["reason"])
        return cls(problem=problem, **told["end_of_training"])

    def rows(self) -> list[dict[str, Any]]:
        """One row: the problem, and what recall comes from."""
        names = (*_NUMBERS, "parameters", "edge", "reason")
        return [self.problem.to_row() | {name: getattr(self, name) for name in names}]

    def _words(self) -> str:
        if self.recall_accuracy is None:
            return str(self.reason)
        return (
            f"predicted recall after training {self.recall_accuracy:.4f}: attention finds the mark "
            f"{self.lock_accuracy:.3f} × facts seen {self.facts_seen:.3f} × memory "
            f"{self.memory_accuracy:.3f}"
        )

    def _drawing(self) -> Drawing:
        if self.recall_accuracy is None:
            raise ProblemError(str(self.reason))
        error = self.recorded_error.most
        values = {name: float(getattr(self, name)) for name in _NUMBERS}
        wide = [0.0, 0.0, 0.0, error]
        series = Series(
            label="law; bar: 90 % of the nearest trainings lie within",
            kind=Kind.MEASURED,
            x=["attention\nfinds the mark", "facts\nseen", "memory", "recall"],
            y=list(values.values()),
            low=[max(y - w, 0) for y, w in zip(values.values(), wide, strict=True)],
            high=[min(y + w, 1) for y, w in zip(values.values(), wide, strict=True)],
        )
        attention = "given" if self.problem.learner == "converged" else "a measured law"
        caption = (
            f"{describe_common_fields([self.problem.to_dict()])}. After training: recall is the "
            f"product of the other three. The memory is derived, attention is {attention}."
        )
        panel = Panel(title="end of training", x="", y="predicted share", series=[series])
        return picture_drawing(Picture(caption=caption, panels=[panel]))


def predict_end(problem: Problem) -> EndPrediction:
    """The law for one problem; with a reason instead of numbers where it was not measured.

    >>> predict_end(Problem(vocab=10**6, samples=10**7, dim=64, length=8, learner="adam")).reason
    'no law of training at vocab 1000000 > 512'
    """
    if reason := no_law(problem):
        return EndPrediction(problem=problem, reason=reason)
    end = end_of_training(problem)
    if math.isnan(end.memory):
        return EndPrediction(problem=problem, reason=_UNSOLVED)
    return EndPrediction(
        problem=problem,
        recall_accuracy=end.recall,
        lock_accuracy=end.lock,
        facts_seen=end.facts_seen,
        memory_accuracy=end.memory,
        parameters=end.parameters,
        edge=end.edge.parameters,
    )


def no_law(problem: Problem) -> str | None:
    """Why the law says nothing of a problem; None if it does."""
    if problem.learner not in TRAINED:
        return f"no law of training for the learner {problem.learner}"
    other = [*_other_sizes(problem), *_other_options(problem)]
    return f"no law of training at {'; '.join(other)}" if other else None


def _other_sizes(problem: Problem) -> list[str]:
    """Sizes at which the law was not measured."""
    sizes = {
        "vocab": problem.vocab,
        "dim": problem.dim,
        "length": problem.length,
        "samples per fact": problem.samples / problem.vocab,
        "width per dim": (problem.width or problem.dim) / problem.dim,
    }
    ranges: dict[str, tuple[float, float]] = dict(MEASURED)
    if problem.learner == "converged":
        ranges = dict(MEMORY)
        if sizes["samples per fact"] < 1 or problem.task == "recall":
            ranges["vocab"] = MEASURED["vocab"]
            ranges["samples per fact"] = (0.25, math.inf)
    found = outside(sizes, ranges)
    if problem.dim >= problem.vocab:
        found.append(f"dim {problem.dim} >= vocab {problem.vocab}")
    return found


def _other_options(problem: Problem) -> list[str]:
    """Options that were left as they are where the law was measured."""
    plain = Problem(vocab=problem.vocab, samples=2, dim=problem.dim, length=1)
    same = ["regime", "model", "embedding", "trigger_in_values"]
    fields = find_part("learner", problem.learner).fields
    found = [name for name in same if getattr(problem, name) != getattr(plain, name)]
    found += [name for name, field in fields.items() if getattr(problem, name) != field.default]
    if problem.task != "recall" and (problem.task, problem.learner) != ("memory", "converged"):
        found.append("task")
    if problem.width is not None and problem.learner != "converged":
        found.append("width")
    if problem.activation not in (None, "relu"):
        found.append("activation")
    return [f"{name} {getattr(problem, name)}" for name in found]


def _recorded_error(problem: Problem, expected: float) -> RecordedError:
    """At the trainings by the same learner whose sizes, and whose predicted recall, are nearest."""
    rows = [row for row in trainings() if row["learner"] == problem.learner]
    samples = min(problem.samples, MEASURED["samples per fact"][1] * problem.vocab)
    here = np.log([problem.vocab, samples, problem.dim, problem.length])
    names = ("vocab", "samples", "dim", "length")
    known = np.log([[float(row[name]) for name in names] for row in rows])
    predicted, recall = (
        np.array([float(row[name]) for row in rows]) for name in ("predicted", "recall")
    )
    # A factor of e in every size weighs as much as 0.2 in recall.
    distance = ((predicted - expected) / 0.2) ** 2 + np.mean((known - here) ** 2, axis=1)
    return error_of_nearest(distance, predicted - recall)


@cache
def trainings() -> list[dict[str, str]]:
    """The trainings that the law as it is was compared with: not those of the first law."""
    with files("recallscope.theory").joinpath("trained.csv").open() as file:
        return [row for row in csv.DictReader(file) if row["study"] != "sealed"]
