"""The closed forms over a plane of two sizes: the accuracy predicted, and what binds where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recallscope.plotting.result import Drawing, Result
from recallscope.problem import Problem, ProblemError
from recallscope.record import check_accuracy
from recallscope.theory.accuracy import accuracies, analyse
from recallscope.theory.noise import budget, dominant
from recallscope.theory.problem_arrays import NoClosedFormError, no_closed_form, problem_arrays
from recallscope.theory.sizes import GROWS, SIZES

if TYPE_CHECKING:
    from jaxtyping import Float

_LINE, _STEPS, _HALVINGS = 64, 8, 9  # points of a line, and looks at each
_OPTIONS = ("activation", "embedding", "trigger_in_values")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PhaseMap(Result):
    """A plane of two sizes: the accuracy predicted at each point, and the noise that binds there.

    `stage` and `term` are names, as is `accuracy_name`; rows follow `y`, columns follow `x`.
    """

    problem: Problem
    x: tuple[str, list[float]]
    y: tuple[str, list[float]]
    accuracy: Float[np.ndarray, "y x"]
    stage: list[list[str]]
    term: list[list[str]]
    accuracy_name: str = "recall_accuracy"

    @property
    def problems(self) -> list[Problem]:
        """The problem of each point; sizes that are not whole are cut."""
        (x_name, xs), (y_name, ys) = self.x, self.y
        return [self.problem.replace(**{x_name: int(x), y_name: int(y)}) for y in ys for x in xs]

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

    def _words(self) -> str:
        (x, xs), (y, ys) = self.x, self.y
        terms = sorted({term.replace("_", " ") for row in self.term for term in row})
        return (
            f"closed forms over {len(xs)} × {len(ys)} values of {x} and {y}: "
            f"{self.accuracy_name.replace('_', ' ')} from {np.nanmin(self.accuracy):.4f} to "
            f"{np.nanmax(self.accuracy):.4f}, bound by {', '.join(terms)}"
        )

    def _drawing(self) -> Drawing:
        from recallscope.plotting.phase_map import draw_phase_map, phase_map_caption
        from recallscope.plotting.phase_map import phase_map_figure as figure

        return Drawing(self.figure_data(), figure, draw_phase_map, phase_map_caption)

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> PhaseMap:
        """The inverse of `to_dict`."""
        shape = len(told["y"]["values"]), len(told["x"]["values"])

        def plane(name: str) -> list[list[Any]]:
            every = [cell[name] for cell in told["cells"]]
            return [every[i * shape[1] : (i + 1) * shape[1]] for i in range(shape[0])]

        some = {told[axis]["name"]: int(told[axis]["values"][-1]) for axis in ("x", "y")}
        return cls(
            problem=Problem.from_dict({**told["problem"], **some}),
            x=(told["x"]["name"], list(told["x"]["values"])),
            y=(told["y"]["name"], list(told["y"]["values"])),
            accuracy=np.array(plane("predicted")),
            stage=plane("stage"),
            term=plane("term"),
            accuracy_name=told["accuracy"],
        )

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return self.figure_data()

    def figure_data(self) -> dict[str, Any]:
        """What `phase_map_figure` draws, as plain values.

        `x` and `y` have the `name` of a size and its `values`, `accuracy` is the name of the one
        predicted, and `cells` has a row of `x`, `y`, `predicted`, `stage` and `term` for each
        point, along x first.
        """
        (x_name, xs), (y_name, ys) = self.x, self.y
        fields = self.problem.to_dict()
        return {
            "problem": {
                name: value for name, value in fields.items() if name not in (x_name, y_name)
            },
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

    Args:
        problem: everything but the two sizes, whose values in the problem are not used.
        x: a size and its values.
        y: another.
        accuracy: recall_accuracy, lock_accuracy or one_step_accuracy.

    Returns:
        The predicted accuracy and the noise that binds, at every cell.

    Raises:
        ProblemError: axes that are no sizes or the same, or a problem without closed forms.

    >>> plane = phase_map(
    ...     Problem(vocab=1024, samples=1, dim=1, length=64),
    ...     x=("dim", [32, 128, 512]), y=("samples", [2048, 2**20]))
    >>> [row["term"] for row in plane.rows()]
    ['interference', 'interference', 'sampling', 'interference', 'interference', 'interference']
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
    binding = dominant(s, found, budget(s, found), accuracy)
    stages, terms = zip(*(binding.names(point) for point in range(xs.size)), strict=True)
    shape = xs.shape
    return PhaseMap(
        problem=problem,
        x=(x[0], [float(value) for value in x[1]]),
        y=(y[0], [float(value) for value in y[1]]),
        accuracy=getattr(found.accuracies, accuracy).reshape(shape),
        stage=np.array(stages).reshape(shape).tolist(),
        term=np.array(terms).reshape(shape).tolist(),
        accuracy_name=accuracy,
    )


def target_line(
    problem: Problem,
    x: tuple[str, Sequence[float]],
    y: tuple[str, Sequence[float]],
    accuracy: str = "recall_accuracy",
    target: float = 0.5,
) -> tuple[tuple[float, float | None], ...]:
    """Where the predicted accuracy crosses a target: a fine curve over the range of the axes.

    For each x, the y on the way from what does not reach the target to what does; None where there
    is none between the ends of the axis.

    >>> base = Problem(vocab=512, samples=1, dim=1, length=4)
    >>> line = target_line(base, ("dim", [64, 256]), ("samples", [256, 65536]))
    >>> [None if line[k][1] is None else round(line[k][1]) for k in (0, -1)]
    [None, 355]
    """
    xs = np.geomspace(min(x[1]), max(x[1]), _LINE)
    first, last = np.log(min(y[1])), np.log(max(y[1]))
    if not GROWS[y[0]]:  # from the side that does not reach the target
        first, last = last, first
    fields = {name: getattr(problem, name) for name in (*SIZES, *_OPTIONS)}

    def reached(at: Float[np.ndarray, " n"], log_y: Float[np.ndarray, " n"]) -> Any:
        s = problem_arrays(**(fields | {x[0]: at, y[0]: np.exp(log_y)}))
        return np.nan_to_num(getattr(accuracies(s), accuracy)) >= target

    steps = np.linspace(first, last, _STEPS)
    known = reached(np.repeat(xs, _STEPS), np.tile(steps, _LINE)).reshape(_LINE, _STEPS)
    crosses = known.any(axis=1) & ~known[:, 0]
    place = np.argmax(known[crosses], axis=1)
    outside, inside = steps[place - 1], steps[place]
    for _ in range(_HALVINGS if crosses.any() else 0):
        middle = (outside + inside) / 2
        there = reached(xs[crosses], middle)
        outside, inside = np.where(there, outside, middle), np.where(there, middle, inside)
    values: list[float | None] = [None] * _LINE
    for where, value in zip(np.flatnonzero(crosses), np.exp(inside), strict=True):
        values[where] = float(value)
    return tuple(zip(xs.tolist(), values, strict=True))
