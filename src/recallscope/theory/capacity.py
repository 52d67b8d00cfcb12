"""The closed forms turned round: what size reaches a target, how it scales, what binds where."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recallscope.parts.naming import find_part
from recallscope.problem import LARGEST_SIZE, Problem, ProblemError, smallest_dim
from recallscope.record import Status, check_accuracy, check_target
from recallscope.theory.accuracy import Accuracies, accuracies, analyse
from recallscope.theory.noise import OWN_STAGE, budget, dominant
from recallscope.theory.problem_arrays import (
    NoClosedFormError,
    ProblemArrays,
    arrays_of,
    no_closed_form,
    problem_arrays,
)
from recallscope.theory.recorded_error import recorded_error
from recallscope.theory.scope import scope
from recallscope.theory.tested_range import extrapolated

if TYPE_CHECKING:
    from jaxtyping import Float

SIZES = ("vocab", "samples", "dim", "length", "width")
_OPTIONS = ("activation", "embedding", "trigger_in_values")
_AT_ONCE = 50  # sizes that the search for a solution looks at
_OVERFLOW = (
    "no closed form at these sizes: terms of it leave the range of floating-point numbers; "
    "choose sizes that are less far apart"
)
GROWS = {"samples": True, "dim": True, "width": True, "vocab": False, "length": False}
"""Whether more of a size helps: then the smallest that will do is wanted, else the largest."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What the theory says of one problem.

    Attributes:
        noise: by stage and term, the variance in units of the squared signal.
        dominant: the stage that limits recall and the noise that limits the stage.
        exponents: the powers of each size with which the dominant noise goes, far into its regime.
        slopes: the same at these very sizes, corrections of finite size included.
        reason: why there is no prediction: then the rest is None or empty.

    >>> found = predict(Problem(vocab=512, samples=8192, dim=64, length=32))
    >>> round(found.recall_accuracy, 2), found.dominant
    (0.32, ('recall', 'interference'))
    """

    problem: Problem
    lock_accuracy: float | None = None
    recall_accuracy: float | None = None
    one_step_accuracy: float | None = None
    noise: dict[str, dict[str, float]] = field(default_factory=dict)
    dominant: tuple[str, str] | None = None
    exponents: dict[str, float] = field(default_factory=dict)
    slopes: dict[str, float] = field(default_factory=dict)
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON: every term with its variance and its share of the stage."""
        problem = {"problem": self.problem.to_dict() | {"key": self.problem.key}}
        if self.dominant is None:
            return problem | {"prediction": None, "reason": self.reason}
        stage, term = self.dominant
        return problem | {
            "prediction": {name: getattr(self, name) for name in Accuracies._fields},
            "noise": {
                stage: {
                    name: {"variance": variance, "share": variance / (sum(terms.values()) or 1.0)}
                    for name, variance in terms.items()
                }
                for stage, terms in self.noise.items()
            },
            "dominant": {"stage": stage, "term": term},
            "exponents": self.exponents,
            "slopes": self.slopes,
            "scope": scope(self.problem),
            "exposures_per_fact": _finite(self.problem.samples / self.problem.vocab),
            "tested_range": self.in_tested_range,
            "extrapolated": self.extrapolated,
            "recorded_error": {
                name: recorded_error(self.problem, name)._asdict() for name in Accuracies._fields
            },
        }

    @property
    def extrapolated(self) -> list[str]:
        """What lies outside of the sizes that were compared with simulation."""
        return extrapolated(self.problem)

    @property
    def in_tested_range(self) -> bool:
        """Whether problems of such sizes were compared with simulation."""
        return not self.extrapolated


@np.errstate(all="ignore")  # what overflows is looked for at the end
def predict(problem: Problem) -> Prediction:
    """Lock, recall and one-step accuracy of a problem, and what limits them, without simulation.

    Where there is no closed form the prediction says so as its `reason`, and has no numbers.
    For arrays of problems, see `recallscope.theory.accuracy.accuracies`.

    >>> predict(Problem(vocab=10**9, samples=10**13, dim=16384, length=10**6)).dominant
    ('recall', 'interference')
    """
    if sentence := no_closed_form(problem):
        return Prediction(problem=problem, reason=sentence)
    s = arrays_of(problem)
    found = analyse(s)
    if not np.isfinite(found.accuracies).all():
        return Prediction(problem=problem, reason=_OVERFLOW)
    terms = budget(s, found)
    stage, term = dominant(found, terms).names()
    slopes = _slopes(s, stage, term)
    lock, recall, one_step = (float(values[0]) for values in found.accuracies)
    return Prediction(
        problem=problem,
        lock_accuracy=lock,
        recall_accuracy=recall,
        one_step_accuracy=one_step,
        noise={
            stage: {name: _rounded(variance[0]) for name, variance in named.items()}
            for stage, named in terms.items()
        },
        dominant=(stage, term),
        exponents=_exponents(slopes, stage, term),
        slopes=slopes,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _rounded(variance: float) -> float:
    """A variance as it is shown: what the population leaves of order 1/N is 0."""
    return float(variance) if variance > 1e-60 else 0.0


# The leading terms of each noise, as powers of V, N, d, L, m: docs/theory.md derives them.
_LAWS: dict[tuple[str, str], tuple[tuple[float, ...], ...]] = {
    ("lock", "gradient_noise"): (
        (2, -2, -4, 3, 0),
        (2, -2, -3, 2, 0),
        (1, -1, -3, 1, 0),
        (1, -1, -4, 2, 0),
    ),
    ("lock", "mean_bias"): ((1, -2, -3, 4, 0),),
    ("lock", "mlp_noise"): ((2, -2, -2, 3, -1), (1, -2, -2, 4, -1), (2, -2, -3, 3, -1)),
    ("lock", "cross_talk"): ((0, 0, -1, 0, 0),),
    ("recall", "interference"): ((1, 0, -2, 0, 0), (2, -1, -2, 0, 0)),
    ("recall", "kernel_interference"): ((1, 0, -3, 0, 0),),
    ("recall", "mlp_noise"): ((1, 0, -1, 0, -1), (2, -1, -1, 0, -1)),
    ("recall", "mean_bias"): ((2, -1, -1, 0, 0),),
    ("recall", "sampling"): ((1, -1, 0, 0, 0),),
}


def _exponents(slopes: dict[str, float], stage: str, term: str) -> dict[str, float]:
    """The law that the slopes come closest to; if to none, the slopes to the nearest half."""
    here = np.array([slopes[name] for name in SIZES])
    laws = np.array(_LAWS[stage, term], dtype=float)
    law = laws[np.argmin(np.abs(laws - here).max(axis=1))]
    if np.abs(law - here).max() > 0.45:
        law = np.round(2 * here) / 2
    return dict(zip(SIZES, (law + 0.0).tolist(), strict=True))


def _slopes(s: ProblemArrays, stage: str, term: str) -> dict[str, float]:
    """Log-derivatives of one noise term by each size."""
    step = 1e-5
    names = [name for name in SIZES if name != "width" or np.isfinite(s.width[0])]
    # Upwards only, as no size may fall below 1.
    more = [s._replace(**{name: getattr(s, name) * (1 + step)}) for name in names]
    both = ProblemArrays(*(np.concatenate(arrays) for arrays in zip(s, *more, strict=True)))
    values = np.log(np.maximum(budget(both, analyse(both))[stage][term], 1e-300))
    slopes = (values[1:] - values[0]) / np.log1p(step)
    return dict.fromkeys(SIZES, 0.0) | dict(zip(names, map(float, slopes), strict=True))


@dataclass(frozen=True, kw_only=True)
class Solution:
    """The size that reaches a target, or why there is none.

    The prediction is that of the solved size, or of the one that comes closest.

    >>> solve(Problem(vocab=512, samples=1, dim=96, length=16), "samples", target=0.5).value
    1415
    """

    quantity: str
    target: float
    accuracy: str
    value: int | None
    reason: str | None
    prediction: Prediction

    @property
    def problem(self) -> Problem:
        """The problem that the prediction is of."""
        return self.prediction.problem

    @property
    def status(self) -> Status:
        """Whether there is such a size."""
        return Status.NOT_REACHED if self.value is None else Status.OK

    @cached_property
    def range(self) -> tuple[int | None, int | None]:
        """The sizes that reach the target if the prediction is off by its recorded error.

        From the smaller to the larger; None is beyond all sizes. The error is that within which
        90 % of the nearest simulated problems lie, or the mean one if that is larger.
        """
        if self.value is None:
            return None, None
        found = recorded_error(self.problem, self.accuracy)
        error = max(found.mean, found.most)
        targets = [self.target - error, self.target + error]
        if not GROWS[self.quantity]:
            targets.reverse()
        return tuple(self._solved(target) for target in targets)  # type: ignore[return-value]

    def _solved(self, target: float) -> int | None:
        if not 0 < target < 1:
            return None
        return solve(self.problem, self.quantity, target, self.accuracy).value

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON: the prediction, and what was asked and found."""
        asked = ("quantity", "target", "accuracy", "value", "range", "reason")
        return (
            self.prediction.to_dict()
            | {name: getattr(self, name) for name in asked}
            | {"status": str(self.status)}
        )


def accuracies_along(problem: Problem, size: str, values: Float[np.ndarray, " n"]) -> Accuracies:
    """The accuracies of a problem with one size changed to each of the values.

    >>> base = Problem(vocab=512, samples=1, dim=64, length=32)
    >>> accuracies_along(base, "samples", np.array([512.0, 8192.0])).recall_accuracy.round(2)
    array([0.25, 0.32])
    """
    many = ProblemArrays(*(np.broadcast_to(field, values.shape) for field in arrays_of(problem)))
    return accuracies(many._replace(**{size: values}))


@np.errstate(all="ignore")
def solve(
    problem: Problem, quantity: str, target: float = 0.5, accuracy: str = "recall_accuracy"
) -> Solution:
    """The smallest samples, dim or width, or the largest vocab or length, that reaches a target.

    The problem's own value of that size is not used. A target out of reach has status
    `not_reached` and a reason that names the noise which stays.

    >>> found = solve(Problem(vocab=512, samples=1, dim=64, length=32), "samples", target=0.9)
    >>> found.status, found.value
    (<Status.NOT_REACHED: 'not_reached'>, None)
    """
    if quantity not in SIZES:
        raise ProblemError(f"can solve for {', '.join(SIZES)}, not {quantity!r}")
    check_accuracy(accuracy)
    check_target(target)
    if quantity == "width" and problem.width is None:
        raise ProblemError("attention alone has no width; give a problem with one, of any value")
    grows = GROWS[quantity]
    low, high = _range(problem, quantity)

    def reached(sizes: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        found = getattr(accuracies_along(problem, quantity, sizes), accuracy)
        return np.nan_to_num(found, nan=0.0)  # sizes without a number do not reach the target

    # The accuracy is all but monotone: a grid finds the crossing, halving pins it down.
    # Only as far as needed, from the side that is out of reach: sums over orthogonal embeddings
    # take longer the more there is to count.
    grid = np.unique(np.round(np.geomspace(low, high, 400)))[:: 1 if grows else -1]
    values = np.empty(0)
    while len(values) < len(grid) and not np.any(values >= target):
        values = np.append(values, reached(grid[len(values) : len(values) + _AT_ONCE]))
    value: int | None = None
    if np.any(values >= target):
        first = int(np.argmax(values >= target))
        value = int(grid[first])
        outside = int(grid[max(first - 1, 0)])
        while abs(outside - value) > 1:
            middle = (value + outside) // 2
            if reached(np.array([float(middle)]))[0] >= target:
                value = middle
            else:
                outside = middle
    closest = int(grid[np.argmax(values >= 0.999 * values.max())]) if value is None else value
    prediction = predict(problem.replace(**{quantity: closest}))
    return Solution(
        quantity=quantity,
        target=float(target),
        accuracy=accuracy,
        value=value,
        reason=_in_the_way(prediction, quantity, accuracy) if value is None else None,
        prediction=prediction,
    )


def largest_vocab(problem: Problem) -> int:
    """The most tokens that have such embeddings in the dimension of the problem."""
    if problem.embedding.startswith("arrays:"):
        return LARGEST_SIZE
    family, low, high = find_part("embedding", problem.embedding), 2, LARGEST_SIZE
    while low < high:
        middle = (low + high + 1) // 2
        if family.smallest_dim(middle) <= problem.dim:
            low = middle
        else:
            high = middle - 1
    return low


def _range(problem: Problem, quantity: str) -> tuple[int, int]:
    """The sizes to search: not all embeddings exist in every dimension."""
    low, high = 1, LARGEST_SIZE
    if quantity == "dim":
        low = smallest_dim(problem.embedding, problem.vocab)
    if quantity == "vocab":
        low, high = 2, largest_vocab(problem)
    return low, high


def _in_the_way(best: Prediction, quantity: str, accuracy: str) -> str:
    """Why even the best size does not reach the target."""
    if best.dominant is None:
        return str(best.reason)
    stage = OWN_STAGE.get(accuracy, best.dominant[0])
    # The largest noise that more (or less) of this size does nothing about.
    noises = sorted(best.noise[stage], key=best.noise[stage].__getitem__, reverse=True)
    term = next(
        (n for n in noises if quantity not in [name for _, name in _REMEDIES[n]]), noises[0]
    )
    size = getattr(best.problem, quantity)
    far = f"at {quantity} = {size}" if size < LARGEST_SIZE else f"with any {quantity}"
    remedies = [f"{verb} {name}" for verb, name in _REMEDIES[term] if name != quantity]
    if best.problem.width is None:
        remedies = [remedy for remedy in remedies if "width" not in remedy]
    return (
        f"{accuracy.replace('_', ' ')} is at most {getattr(best, accuracy):.3g}, {far}: "
        f"{term.replace('_', ' ')} of the {stage.replace('_', '-')} stage is in the way; "
        + " or ".join(remedies)
    )


_REMEDIES = {
    "interference": (("raise", "dim"), ("lower", "vocab")),
    "kernel_interference": (("raise", "dim"), ("lower", "vocab")),
    "cross_talk": (("raise", "dim"), ("lower", "length")),
    "mlp_noise": (("raise", "width"), ("raise", "dim")),
    "mean_bias": (("raise", "samples"), ("raise", "dim")),
    "gradient_noise": (("raise", "samples"), ("raise", "dim"), ("lower", "length")),
    "sampling": (("raise", "samples"), ("lower", "vocab")),
}


@dataclass(frozen=True, kw_only=True)
class PhaseMap:
    """A plane of two sizes: the accuracy predicted at each point, and the noise that binds there.

    `stage` and `term` are names, as is `accuracy_name`; rows follow `y`, columns follow `x`.
    """

    x: tuple[str, list[float]]
    y: tuple[str, list[float]]
    accuracy: Float[np.ndarray, "y x"]
    stage: list[list[str]]
    term: list[list[str]]
    accuracy_name: str = "recall_accuracy"

    def rows(self) -> list[dict[str, Any]]:
        """One plain row for each point."""
        (x_name, xs), (y_name, ys) = self.x, self.y
        return [
            {
                x_name: x,
                y_name: y,
                self.accuracy_name: float(self.accuracy[i, j]),
                "stage": self.stage[i][j],
                "term": self.term[i][j],
            }
            for i, y in enumerate(ys)
            for j, x in enumerate(xs)
        ]

    def figure_data(self) -> dict[str, Any]:
        """What `phase_map_figure` draws, as plain values.

        `x` and `y` have the `name` of a size and its `values`, `accuracy` is the name of the one
        predicted, and `cells` has a row of `x`, `y`, `predicted`, `stage` and `term` for each
        point, along x first.
        """
        (x_name, xs), (y_name, ys) = self.x, self.y
        return {
            "x": {"name": x_name, "values": xs},
            "y": {"name": y_name, "values": ys},
            "accuracy": self.accuracy_name,
            "cells": [
                {
                    "x": row[x_name],
                    "y": row[y_name],
                    "predicted": row[self.accuracy_name],
                    "stage": row["stage"],
                    "term": row["term"],
                }
                for row in self.rows()
            ],
        }


def phase_map(
    problem: Problem,
    x: tuple[str, Sequence[float]],
    y: tuple[str, Sequence[float]],
    accuracy: str = "recall_accuracy",
) -> PhaseMap:
    """Which noise dominates where, over a plane of two sizes.

    >>> plane = phase_map(
    ...     Problem(vocab=1024, samples=1, dim=1, length=64),
    ...     x=("dim", [32, 128, 512]), y=("samples", [2048, 2**20]))
    >>> [row["term"] for row in plane.rows()]
    ['interference', 'sampling', 'sampling', 'interference', 'interference', 'interference']
    """
    for name, _ in (x, y):
        if name not in SIZES:
            raise ProblemError(f"a phase map is over two of {', '.join(SIZES)}, not {name!r}")
    if x[0] == y[0]:
        raise ProblemError(f"a phase map is over two different sizes, not {x[0]!r} twice")
    if "width" in (x[0], y[0]) and problem.width is None:
        raise ProblemError("attention alone has no width; give a problem with one, of any value")
    check_accuracy(accuracy)
    if sentence := no_closed_form(problem):
        raise NoClosedFormError(sentence)
    fields = {name: getattr(problem, name) for name in (*SIZES, *_OPTIONS)}
    ys, xs = np.meshgrid(y[1], x[1], indexing="ij")
    s = problem_arrays(**(fields | {x[0]: xs.ravel(), y[0]: ys.ravel()}))
    found = analyse(s)
    binding = dominant(found, budget(s, found), accuracy)
    stages, terms = zip(*(binding.names(point) for point in range(xs.size)), strict=True)
    shape = xs.shape
    return PhaseMap(
        x=(x[0], [float(value) for value in x[1]]),
        y=(y[0], [float(value) for value in y[1]]),
        accuracy=getattr(found.accuracies, accuracy).reshape(shape),
        stage=np.array(stages).reshape(shape).tolist(),
        term=np.array(terms).reshape(shape).tolist(),
        accuracy_name=accuracy,
    )
