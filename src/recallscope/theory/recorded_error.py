"""How far off a law was at the problems nearest to one, and the interval that follows from it.

Errors are compared in units of √(p (1 − p)), p the predicted accuracy. Predictions near 0 or 1
cannot be far off, and would make those between look better than they are.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from recallscope.common.shapes import Bool, Float
from recallscope.problem.problem import Problem

_NEAREST = 40
_INSIDE = 0.9  # of the nearest problems, and of one more
_CLOSE = 0.1  # of accuracy, which counts as much as a factor of e in every size
_LEAST = 0.02  # in the unit of errors, at predictions of 0 and 1


SMALL_MODELS = "small_transformers.csv"
"""The trainings of small transformers, which published values are compared with too."""


class RecordedError(NamedTuple):
    """Predicted minus measured accuracy near a problem, from the nearest measured problems.

    The error of the measurement itself is part of all three. 90 % are within `most`.
    """

    problems: int
    mean: float
    most: float
    median: float

    def wider(self, factor: float) -> RecordedError:
        """The same, larger by a factor."""
        return self._replace(
            mean=factor * self.mean, most=factor * self.most, median=factor * self.median
        )


class ComparedProblem(NamedTuple):
    """A problem at which a law was compared with an experiment, and the accuracies of both."""

    problem: Problem
    predicted: Mapping[str, float]
    measured: Mapping[str, float]


def error_near(
    sizes: Mapping[str, float],
    expected: float,
    known: Mapping[str, Float[np.ndarray, " n"]],
    predicted: Float[np.ndarray, " n"],
    measured: Float[np.ndarray, " n"],
    alike: Bool[np.ndarray, " n"] | None = None,
) -> RecordedError | None:
    """The error at an expected accuracy, by problems that are alike; None if there are none.

    >>> known = {"vocab": np.array([64.0, 128.0])}
    >>> error = error_near({"vocab": 64.0}, 0.5, known, np.array([0.5, 0.5]), np.array([0.4, 0.6]))
    >>> error.problems, round(error.most, 3)
    (2, 0.1)
    """
    distance = ((predicted - expected) / _CLOSE) ** 2
    for name, size in sizes.items():
        if math.isfinite(size):
            distance = distance + np.log(known[name] / size) ** 2 / len(sizes)
    chosen = np.arange(len(distance)) if alike is None else np.flatnonzero(alike)
    nearest = chosen[np.argsort(distance[chosen], kind="stable")[:_NEAREST]]
    if not len(nearest):
        return None
    off = np.abs(predicted - measured)[nearest] / _unit(predicted[nearest])
    off = np.sort(off) * float(_unit(np.array(expected)))
    # One problem more than there are: a new one is then as likely to be within.
    most = min(math.ceil(_INSIDE * (len(off) + 1)), len(off)) - 1
    return RecordedError(len(off), float(off.mean()), float(off[most]), float(np.median(off)))


def _unit(accuracy: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    inside = np.clip(accuracy, 0, 1)
    return np.sqrt(inside * (1 - inside) + _LEAST**2)


@cache
def recorded(name: str) -> dict[str, np.ndarray]:
    """The columns of a table of runs that a law was compared with; text where it is not a number.

    >>> sorted(set(recorded("trained.csv")["learner"].tolist()))
    ['adam', 'gd', 'muon']
    """
    with files("recallscope.theory").joinpath(name).open() as file:
        rows = list(csv.DictReader(file))

    def column(name: str) -> np.ndarray:
        values = [row[name] for row in rows]
        try:
            return np.array(values, dtype=float)
        except ValueError:
            return np.array(values)

    return {heading: column(heading) for heading in rows[0]}
