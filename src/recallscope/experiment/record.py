"""The result of an experiment: numbers, a status and where they came from."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from recallscope.common.checks import LARGEST_SEED, whole_number
from recallscope.common.errors import ProblemError
from recallscope.common.plain import refusing
from recallscope.common.shapes import Float
from recallscope.common.status import Status
from recallscope.problem.metrics import ACCURACIES, check_share, metric_value
from recallscope.problem.problem import FIELDS, SCHEMA_VERSION, Problem
from recallscope.problem.rows import row_of


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """How and by what a record was made."""

    engine: str | None
    dtype: str
    device: str
    versions: dict[str, str]
    revision: str | None
    elapsed_seconds: float
    schema: int = SCHEMA_VERSION
    part_versions: dict[str, int] = field(default_factory=dict)
    """By kind of part, and of metrics by name."""
    files: dict[str, str] = field(default_factory=dict)
    """Of the user's function and of parts that were passed as objects: hashes by path."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """The outcome of one problem at one seed.

    Accuracies are fractions of `test_samples` fresh samples. The scores of attention are in units
    of the signal that an ideal first step would give to attention alone, 1/(V L²). In the literal
    regime this is times η, and with an MLP per hidden unit.

    Attributes:
        problem: what was run.
        seed: which instance of it.
        status: ok, not_reached, infeasible or failed.
        provenance: by which engine, dtype, device and versions, and how long it took.
        reason: why it is not ok; None if it is.
        test_samples: how many fresh samples it was tested on.
        attention_accuracy: how often attention is highest at the marked position.
        recall_accuracy: how often the model answers with the right label.
        first_gradient_accuracy: how often the first value matrix alone, asked for the embedding
            of the marked token, has the right label.
        score_signal: what the trigger adds to the attention score of its position.
        score_noise: the standard deviation of the attention score over the tokens.
        trigger_cosine: of the attention vector with the trigger.
        first_value_cosine: of V1 with the ideal memory Σ_v u_π(v) z_v^T (φ(W_in z_v) for an MLP).
        second_value_cosine: of V2 with the same.
        measure: the name of what was measured instead of a run's accuracies; None for a run.
        metrics: further results by name, each a number or a list of numbers.

    >>> from recallscope import run
    >>> record = run(Problem(vocab=64, samples=512, dim=32, length=4), seed=3)
    >>> record.seed, str(record.status), record.test_samples
    (3, 'ok', 4096)
    """

    problem: Problem
    seed: int
    status: Status
    provenance: Provenance
    reason: str | None = None
    test_samples: int | None = None
    attention_accuracy: float | None = None
    recall_accuracy: float | None = None
    first_gradient_accuracy: float | None = None
    score_signal: float | None = None
    score_noise: float | None = None
    trigger_cosine: float | None = None
    first_value_cosine: float | None = None
    second_value_cosine: float | None = None
    measure: str | None = None
    metrics: Mapping[str, float | Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        metrics = {name: metric_value(name, value) for name, value in self.metrics.items()}
        object.__setattr__(self, "metrics", metrics)

    def array(self, name: str) -> Float[np.ndarray, ...]:
        """A metric of several numbers, in the shape that it had.

        Args:
            name: of the metric.

        Returns:
            Its numbers.

        Raises:
            ProblemError: a metric that the record does not have.
        """
        if name not in self.metrics:
            raise ProblemError(f"this record has no metric {name!r:.60}")
        numbers = np.array(self.metrics[name])
        shape = np.array(self.metrics.get(f"{name}.shape", numbers.shape), dtype=int)
        return numbers.reshape(shape)

    def metric(self, name: str) -> float:
        """A metric that is one number.

        Args:
            name: of the metric.

        Returns:
            Its value.

        Raises:
            ProblemError: there is no such metric, or it is a list.
        """
        value = self.metrics.get(name)
        if not isinstance(value, Real):
            raise ProblemError(f"this record has no metric {name!r:.60} that is one number")
        return float(value)

    def accuracy(self, name: str) -> tuple[float, int]:
        """An accuracy, or a metric that is one, and the number of tests it was measured on.

        Args:
            name: recall_accuracy, attention_accuracy, first_gradient_accuracy, or a metric.

        Returns:
            The fraction, and the number of tests.

        Raises:
            ProblemError: there is no such metric, or it is not a fraction of tests.
        """
        value = getattr(self, name) if name in ACCURACIES else self.metrics.get(name)
        if not isinstance(value, Real) or not 0 <= float(value) <= 1:
            raise ProblemError(f"a record has no {name} between 0 and 1, but {value!r:.60}")
        if self.test_samples is None:
            raise ProblemError(
                f"a record has {name} without a number of tests; an accuracy means nothing without"
            )
        return float(value), self.test_samples

    def to_dict(self) -> dict[str, Any]:
        """One object fit for JSON: numbers and provenance flat, the problem with its fields."""
        fields = {column.name: getattr(self, column.name) for column in dataclasses.fields(self)}
        made = dataclasses.asdict(fields.pop("provenance"))
        problem = fields.pop("problem")
        for name in ("measure", "metrics"):  # most records have none
            if not fields[name]:
                del fields[name]
        if not made["files"]:
            del made["files"]
        return (
            fields
            | {"status": str(self.status), "problem_key": problem.key_with(made["part_versions"])}
            | made
            | {"problem": problem.to_dict()}
        )

    @classmethod
    @refusing
    def from_dict(cls, data: Mapping[str, Any]) -> Record:
        """The inverse of `to_dict`.

        Args:
            data: what `to_dict` returned.

        Returns:
            The record.
        """
        made = {column.name for column in dataclasses.fields(Provenance)}
        own = {name: value for name, value in data.items() if name not in made}
        problem = Problem.from_dict(own.pop("problem"))
        own["status"] = Status(own["status"])
        provenance = Provenance(**{name: data[name] for name in made if name in data})
        if own.pop("problem_key", None) not in (None, problem.key_with(provenance.part_versions)):
            raise ProblemError("the key of this record is not that of its problem")
        return cls(**{**own, "problem": problem}, provenance=provenance)

    def result(self) -> dict[str, Any]:
        """All that must be equal when the same experiment is run again: everything but the time."""
        fields = self.to_dict()
        del fields["elapsed_seconds"], fields["problem"]
        return fields

    def row(self) -> dict[str, Any]:
        """One flat row for a table: the problem, the seed and the results."""
        fields = self.to_dict()
        metrics = fields.pop("metrics", {})
        for name in ("problem", "versions", "files"):
            fields.pop(name, None)
        return row_of(self.problem, fields | metrics)


def check_new_metrics(problem: Problem, names: Iterable[str]) -> None:
    """Raise if two columns of a row would have one name; in records of old stores they may.

    >>> check_new_metrics(Problem(vocab=64, samples=512, dim=32, length=4), ["seed"])
    Traceback (most recent call last):
    recallscope.ProblemError: a metric is called 'seed', which a table of records has ...
    """
    columns = {column.name for made in (Record, Provenance) for column in dataclasses.fields(made)}
    columns |= {*FIELDS, "problem_key"}
    for name, _ in problem.declared:
        if name in columns:
            raise ProblemError(
                f"a part has a field {name}, which a table of records has as a column; give the "
                "field another name"
            )
    taken = columns | {*dict(problem.declared)}
    for name in names:
        if name in taken:
            raise ProblemError(
                f"a metric is called {name!r:.60}, which a table of records has already, as a "
                "column or as another metric; give it another name"
            )
        taken.add(name)


def reported(problem: Problem, seed: int, accuracy: object, tests: object) -> Record:
    """The record of a run that somebody else has made and reports."""
    if not isinstance(problem, Problem):
        raise ProblemError(f"a report begins with a Problem, not with {problem!r:.60}")
    if (
        isinstance(accuracy, bool)
        or not isinstance(accuracy, Real)
        or not 0 <= float(accuracy) <= 1
    ):
        raise ProblemError(f"an accuracy is a number from 0 to 1, not {accuracy!r:.60}")
    tests = whole_number("tests", tests, 1)
    check_share("an accuracy", float(accuracy), tests)
    return Record(
        problem=problem,
        seed=whole_number("seed", seed, 0, LARGEST_SEED),
        status=Status.OK,
        provenance=Provenance(
            engine=None,
            dtype="",
            device="",
            versions={},
            revision=None,
            elapsed_seconds=0.0,
            part_versions=problem.part_versions(),
        ),
        test_samples=tests,
        recall_accuracy=float(accuracy),
    )
