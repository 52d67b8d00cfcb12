"""The simulated problems that the closed forms of three steps were compared with."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

import numpy as np

from recallscope.common.shapes import Float
from recallscope.problem import Problem
from recallscope.theory.accuracy import Accuracies, accuracies
from recallscope.theory.problem_arrays import ProblemArrays, arrays_of, problem_arrays
from recallscope.theory.recorded_error import ComparedProblem, RecordedError, error_near

_SIZES = ("vocab", "samples", "dim", "length", "width")


def recorded_error(
    problem: Problem, accuracy: str = "recall_accuracy", expected: float | None = None
) -> RecordedError | None:
    """The error of a closed form near a problem, as simulations have shown it.

    Near are problems of the same kind of model whose sizes, and whose predicted accuracy, are.

    >>> found = recorded_error(Problem(vocab=512, samples=8192, dim=64, length=32))
    >>> found.problems, found.mean < 0.02
    (40, True)
    """
    known, simulated, predicted = simulations()
    here = arrays_of(problem)
    if expected is None:
        expected = float(getattr(accuracies(here), accuracy)[0])
    return error_near(
        {name: float(getattr(here, name)[0]) for name in _SIZES},
        expected,
        {name: getattr(known, name) for name in _SIZES},
        getattr(predicted, accuracy),
        getattr(simulated, accuracy),
        (np.isinf(known.width) == np.isinf(here.width[0])) & (known.marked == here.marked[0]),
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
