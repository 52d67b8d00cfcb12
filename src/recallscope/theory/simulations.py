"""The simulated problems that the closed forms of three steps were compared with."""

from __future__ import annotations

from functools import cache

import numpy as np

from recallscope.problem.problem import Problem
from recallscope.theory.accuracy import Accuracies, accuracies
from recallscope.theory.problem_arrays import ProblemArrays, arrays_of, problem_arrays
from recallscope.theory.recorded_error import ComparedProblem, RecordedError, error_near, recorded

_SIZES = ("vocab", "samples", "dim", "length", "width")


def recorded_error(
    problem: Problem, accuracy: str = "recall_accuracy", expected: float | None = None
) -> RecordedError | None:
    """The error of a closed form near a problem, as simulations have shown it.

    Near problems have the same kind of model, and similar sizes and predicted accuracies.

    >>> error = recorded_error(Problem(vocab=512, samples=8192, dim=64, length=32))
    >>> error.problems, error.mean < 0.02
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
    rows = recorded("simulated.csv")
    comparisons = []
    for place, values in enumerate(zip(*rows.values(), strict=True)):
        row = dict(zip(rows, values, strict=True))
        sizes = {name: int(row[name]) for name in _SIZES if row[name]}
        options = {"activation": str(row["activation"]) or None, "embedding": str(row["embedding"])}
        options["trigger_in_values"] = row["trigger_in_values"] == "True"
        both = (
            {name: float(column[place]) for name, column in table._asdict().items()}
            for table in (predicted, simulated)
        )
        comparisons.append(ComparedProblem(Problem.from_dict(sizes | options), *both))
    return comparisons


@cache
def simulations() -> tuple[ProblemArrays, Accuracies, Accuracies]:
    """The simulated problems, what was simulated, and what is predicted today."""
    rows = recorded("simulated.csv")
    width, activation = rows["width"], rows["activation"]  # empty for attention alone
    known = problem_arrays(
        **{name: rows[name] for name in ("vocab", "samples", "dim", "length", "embedding")},
        width=np.where(width == "", "inf", width).astype(float),
        activation=np.where(activation == "", "identity", activation),
        trigger_in_values=rows["trigger_in_values"] == "True",
    )
    simulated = Accuracies(*(rows[name] for name in Accuracies._fields))
    return known, simulated, accuracies(known)
