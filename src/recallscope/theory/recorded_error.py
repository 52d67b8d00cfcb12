"""How far off the closed forms were at the simulated problems nearest to one."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recallscope.problem import Problem
from recallscope.theory.accuracy import Accuracies, accuracies
from recallscope.theory.problem_arrays import ProblemArrays, arrays_of, problem_arrays

if TYPE_CHECKING:
    from jaxtyping import Float

_NEAREST = 30
_SIZES = ("vocab", "samples", "dim", "length", "width")


class RecordedError(NamedTuple):
    """Predicted minus simulated at the nearest problems: its size, and what 90 % are within.

    The error of the simulation itself is part of all three.
    """

    problems: int
    mean: float
    most: float
    median: float


class ComparedProblem(NamedTuple):
    """A problem at which a law was compared with an experiment, and the accuracies of both."""

    problem: Problem
    predicted: Mapping[str, float]
    measured: Mapping[str, float]


def recorded_error(problem: Problem, accuracy: str = "recall_accuracy") -> RecordedError:
    """The error of a closed form near a problem, as simulations have shown it.

    Near are problems of the same kind of model whose sizes, and whose predicted accuracy, are.

    >>> found = recorded_error(Problem(vocab=512, samples=8192, dim=64, length=32))
    >>> found.problems, found.mean < 0.02
    (30, True)
    """
    known, simulated, predicted = simulations()
    here = arrays_of(problem)
    expected = getattr(accuracies(here), accuracy)[0]
    alike = np.isinf(known.width) == np.isinf(here.width[0])
    alike &= known.marked == here.marked[0]
    # A factor of e in every size weighs as much as 0.2 in accuracy.
    distance = ((getattr(predicted, accuracy) - expected) / 0.2) ** 2
    for name in _SIZES:
        mine, theirs = getattr(here, name)[0], getattr(known, name)
        if np.isfinite(mine):
            distance = distance + np.where(alike, np.log(theirs / mine) ** 2 / len(_SIZES), 0)
    distance = np.where(alike, distance, np.inf)
    return error_of_nearest(distance, getattr(predicted, accuracy) - getattr(simulated, accuracy))


def error_of_nearest(
    distance: Float[np.ndarray, " n"], error: Float[np.ndarray, " n"]
) -> RecordedError:
    """What the errors of the nearest of all problems come to.

    >>> error_of_nearest(np.arange(4.0), np.array([0.1, -0.1, 0.1, -0.1]))
    RecordedError(problems=4, mean=0.1, most=0.1, median=0.1)
    """
    nearest = np.abs(error)[np.argsort(distance)[:_NEAREST]]
    return RecordedError(
        len(nearest),
        float(nearest.mean()),
        float(np.quantile(nearest, 0.9)),
        float(np.median(nearest)),
    )


def simulated_comparisons() -> list[ComparedProblem]:
    """The simulated problems, each with what is predicted today."""
    _, simulated, predicted = simulations()
    return [
        ComparedProblem(
            Problem.from_dict(
                {name: int(row[name]) for name in _SIZES if row[name]}
                | {"activation": row["activation"] or None, "embedding": row["embedding"]}
                | {"trigger_in_values": row["trigger_in_values"] == "True"}
            ),
            *(
                {name: float(column[place]) for name, column in each._asdict().items()}
                for each in (predicted, simulated)
            ),
        )
        for place, row in enumerate(_rows())
    ]


@cache
def _rows() -> list[dict[str, str]]:
    with files("recallscope.theory").joinpath("simulated.csv").open() as file:
        return list(csv.DictReader(file))


@cache
def simulations() -> tuple[ProblemArrays, Accuracies, Accuracies]:
    """The simulated problems, what was simulated, and what is predicted today."""
    rows = _rows()

    def column(name: str) -> Float[np.ndarray, " n"]:
        return np.array([float(row[name]) if row[name] else np.inf for row in rows])

    known = problem_arrays(
        **{name: column(name) for name in _SIZES},
        activation=[row["activation"] or "identity" for row in rows],
        embedding=[row["embedding"] for row in rows],
        trigger_in_values=[row["trigger_in_values"] == "True" for row in rows],
    )
    simulated = Accuracies(*(column(name) for name in Accuracies._fields))
    return known, simulated, accuracies(known)
