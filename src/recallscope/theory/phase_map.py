"""A law over a plane of two sizes: the accuracy predicted, and the bottleneck at each point."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from recallscope.common.errors import ProblemError
from recallscope.common.formatting import format_duration
from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.common.shapes import Float
from recallscope.plot.result import Drawing, Result
from recallscope.problem.axes import SIZES, axes_of, axis_field
from recallscope.problem.metrics import check_accuracy
from recallscope.problem.problem import Problem
from recallscope.theory.choosing import choose, law_in_words
from recallscope.theory.law import NOTHING_GIVEN, Law
from recallscope.theory.required_size import between, check_has, ladder, resized

_LINE, _STEP = 64, 4.0  # points of a line, and the factor between sizes that are tried first
_AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PhaseMap(Result):
    """A plane of two sizes: the accuracy predicted at each point, and the bottleneck there.

    `stage` and `term` are names, as are `accuracy_name` and `law`; rows follow `y`, columns `x`.
    """

    problem: Problem
    x: tuple[str, list[float]]
    y: tuple[str, list[float]]
    accuracy: Float[np.ndarray, "y x"]
    stage: list[list[str | None]]
    term: list[list[str | None]]
    accuracy_name: str = "recall_accuracy"
    law: str | None = None

    @property
    def corners(self) -> list[Problem]:
        """Problems with the smallest and the largest sizes; those that are not whole are cut."""
        fields = axes_of(self.problem.parts())
        columns, rows = (
            dict.fromkeys(type(fields[name].default)(end) for end in (min(sizes), max(sizes)))
            for name, sizes in (self.x, self.y)
        )
        pairs = [{self.x[0]: x, self.y[0]: y} for y in rows for x in columns]
        return [self.problem.replace(**sizes) for sizes in pairs]

    def cell(self, row: int, column: int) -> dict[str, Any]:
        """Return the `predicted` value at a point, None without a law, and the limiting noise."""
        value = float(self.accuracy[row, column])
        bound = {"stage": self.stage[row][column], "term": self.term[row][column]}
        return {"predicted": None if math.isnan(value) else value} | bound

    def rows(self) -> list[dict[str, Any]]:
        """One plain row for each point."""
        names = self.x[0], self.y[0], self.accuracy_name, "stage", "term"
        return [dict(zip(names, cell.values(), strict=True)) for cell in self._cells()]

    def _cells(self) -> list[dict[str, Any]]:
        """One for each point, along x first."""
        return [
            {"x": x, "y": y} | self.cell(i, j)
            for i, y in enumerate(self.y[1])
            for j, x in enumerate(self.x[1])
        ]

    def _words(self) -> str:
        (x, xs), (y, ys) = self.x, self.y
        terms = sorted({term.replace("_", " ") for row in self.term for term in row if term})
        bound = f", bound by {', '.join(terms)}" if terms else ""
        kind = law_in_words(self.law)["kind"]
        law = "theory" if self.law is None else f"the {kind} law {self.law}"
        return (
            f"{law} over {len(xs)} × {len(ys)} values of {x} and {y}: "
            f"{self.accuracy_name.replace('_', ' ')} from {np.nanmin(self.accuracy):.4f} to "
            f"{np.nanmax(self.accuracy):.4f}{bound}"
        )

    def _drawing(self) -> Drawing:
        return Drawing("phase_map", self.figure_data())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PhaseMap:
        """The inverse of `to_dict`."""
        x, y = ((data[axis]["name"], list(data[axis]["values"])) for axis in ("x", "y"))
        shape = len(y[1]), len(x[1])

        def plane(name: str) -> Any:
            return np.array([cell[name] for cell in data["cells"]], dtype=object).reshape(shape)

        some = {name: values[-1] for name, values in (x, y)}
        whole = {name: int(value) for name, value in some.items() if name in SIZES}
        return cls(
            problem=Problem.from_dict({**data["problem"], **some, **whole}),
            x=x,
            y=y,
            accuracy=plane("predicted").astype(float),
            stage=plane("stage").tolist(),
            term=plane("term").tolist(),
            accuracy_name=data["accuracy"],
            law=data["law"],
        )

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return self.figure_data()

    def figure_data(self) -> dict[str, Any]:
        """Return what `phase_map_figure` draws, as plain values.

        `x` and `y` have the `name` of a size and its `values`. `accuracy` is the name of the one
        predicted, and `law`, `kind` and `origin` say by which law. `cells` has a row of `x`, `y`,
        `predicted`, `stage` and `term` for each point, along x first.
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
            **law_in_words(self.law),
            "cells": self._cells(),
        }


def phase_map(
    problem: Problem,
    x: tuple[str, Sequence[float]],
    y: tuple[str, Sequence[float]],
    accuracy: str = "recall_accuracy",
    progress: ProgressCallback | bool = True,
) -> PhaseMap:
    """Which noise dominates where, over a plane of two sizes.

    Args:
        problem: everything but the two sizes; their values in the problem are not used.
        x: a size and its values.
        y: another.
        accuracy: recall_accuracy, attention_accuracy or first_gradient_accuracy.
        progress: True for a bar in a terminal or a notebook, False for none, or a function that is
            called with (work done, work in all).

    Returns:
        The predicted accuracy and the bottleneck, at every cell.

    Raises:
        ProblemError: axes that are no sizes or the same, or a problem without closed forms.

    >>> plane = phase_map(
    ...     Problem(vocab=1024, samples=1, dim=1, length=64),
    ...     x=("dim", [32, 128, 512]), y=("samples", [2048, 2**20]))
    >>> [row["term"] for row in plane.rows()]
    ['interference', 'interference', 'sampling', 'interference', 'interference', 'interference']
    """
    for name, values in (x, y):
        field = axis_field(name, problem.parts())
        check_has(problem, name)
        for value in values:
            if not isinstance(value, Real):
                raise ProblemError(f"{name} must be numbers, not {value!r:.60}")
            if not (field.low or 0) <= value <= field.most:
                raise ProblemError(f"{name} must be from {field.low} to {field.most}, not {value}")
    if x[0] == y[0]:
        raise ProblemError(f"a phase map is over two different sizes, not {x[0]!r} twice")
    check_accuracy(accuracy)
    cells = [resized(resized(problem, x[0], column), y[0], row) for row in y[1] for column in x[1]]
    shape = len(y[1]), len(x[1])
    choice = choose(*cells)
    total = 2 * len(cells)
    with shown_progress(progress, "phase map") as show:
        numbers = _numbers(choice.law, cells, accuracy, lambda done: show(done, total))
        binding = _answers_in_blocks(
            choice.law,
            cells,
            lambda some: choice.law.bottleneck(some, accuracy),
            (None, None),
            lambda done: show(len(cells) + done, total),
        )
    return PhaseMap(
        problem=problem,
        x=(x[0], [float(value) for value in x[1]]),
        y=(y[0], [float(value) for value in y[1]]),
        accuracy=np.array(numbers).reshape(shape),
        stage=np.array([stage for stage, _ in binding], dtype=object).reshape(shape).tolist(),
        term=np.array([term for _, term in binding], dtype=object).reshape(shape).tolist(),
        accuracy_name=accuracy,
        law=choice.name,
    )


def no_phase_map(
    problem: Problem,
    x: tuple[str, Sequence[float]],
    y: tuple[str, Sequence[float]],
    patience: float = math.inf,
) -> str | None:
    """Why no law says anything of a plane within some seconds; None if one does."""
    corners = [
        resized(resized(problem, x[0], column), y[0], row)
        for row in (y[1][-1], y[1][0])
        for column in (x[1][-1], x[1][0])
    ]
    choice = choose(*corners)
    if choice.name is None:
        return choice.reason
    law = choice.law
    applying = next(corner for corner in corners if law.applies(corner) is None)
    if (reason := law.predict([applying], NOTHING_GIVEN)[0].reason) is not None:
        return reason
    seconds = law.seconds(applying) * (len(x[1]) * len(y[1]) + _LINE * _STEP)
    if seconds > patience:
        return f"the law {choice.name} takes about {format_duration(seconds)} for so many cells"
    return None


def _numbers(
    law: Law,
    cells: Sequence[Problem],
    accuracy: str,
    progress: Callable[[int], None] = lambda done: None,
) -> list[float]:
    """An accuracy of each problem, NaN where the law does not give it."""

    def ask(some: list[Problem]) -> list[float]:
        answers = law.predict(some, NOTHING_GIVEN)
        return [answer.accuracies.get(accuracy, math.nan) for answer in answers]

    return _answers_in_blocks(law, cells, ask, math.nan, progress)


def _answers_in_blocks(
    law: Law,
    cells: Sequence[Problem],
    ask: Callable[[list[Problem]], Sequence[Any]],
    missing: Any,
    progress: Callable[[int], None],
) -> list[Any]:
    """Return the answer for each problem that the law applies to, asked in blocks."""
    answers = [missing] * len(cells)
    places = [place for place, cell in enumerate(cells) if law.applies(cell) is None]
    for start in range(0, len(places), _AT_ONCE):
        some = places[start : start + _AT_ONCE]
        for place, answer in zip(some, ask([cells[place] for place in some]), strict=True):
            answers[place] = answer
        progress(some[-1] + 1)
    return answers


def target_line(
    problem: Problem,
    x: tuple[str, Sequence[float]],
    y: tuple[str, Sequence[float]],
    accuracy: str = "recall_accuracy",
    target: float = 0.5,
) -> tuple[tuple[float, float | None], ...]:
    """Where the predicted accuracy crosses a target: a fine curve over the range of the axes.

    For each x, the y on the way from what does not reach the target to what does; None where no y
    between the ends of the axis does.

    >>> base = Problem(vocab=512, samples=1, dim=1, length=4)
    >>> line = target_line(base, ("dim", [64, 256]), ("samples", [256, 65536]))
    >>> [None if line[k][1] is None else round(line[k][1]) for k in (0, -1)]
    [None, 354]
    """
    across, along = (axis_field(name, problem.parts()) for name in (x[0], y[0]))
    if along.monotone is None:
        return ()
    ends = across.place(min(x[1])), across.place(max(x[1]))
    columns = sorted({across.value_at(point) for point in np.linspace(*ends, _LINE)})
    grows, sizes = along.grows, ladder(min(y[1]), max(y[1]), _STEP, along)

    def known(at: Sequence[tuple[float, float]]) -> list[float]:
        cells = [resized(resized(problem, x[0], column), y[0], row) for column, row in at]
        return [
            0.0 if math.isnan(value) else value
            for value in _numbers(choose(*cells).law, cells, accuracy)
        ]

    # From the side that does not reach the target; what crosses there is followed by halving.
    order = sizes if grows else sizes[::-1]
    accuracies = known([(column, row) for column in columns for row in order])
    pairs: dict[float, tuple[tuple[float, float], tuple[float, float]]] = {}
    for number, column in enumerate(columns):
        here = accuracies[number * len(order) : (number + 1) * len(order)]
        place = next((k for k, value in enumerate(here) if value >= target), None)
        if place:
            pairs[column] = (order[place - 1], here[place - 1]), (order[place], here[place])
    while middles := {
        column: middle
        for column, (out, into) in pairs.items()
        if (middle := between(along, out[0], into[0])) is not None
    }:
        for (column, middle), value in zip(middles.items(), known([*middles.items()]), strict=True):
            out, into = pairs[column]
            at = (middle, value)
            pairs[column] = (out, at) if value >= target else (at, into)
    line: list[tuple[float, float | None]] = []
    for column in columns:
        if column not in pairs:
            line.append((float(column), None))
            continue
        (first, below), (last, above) = pairs[column]
        share = (target - below) / (above - below) if above > below else 1.0
        line.append((float(column), first + share * (last - first)))
    return tuple(line)
