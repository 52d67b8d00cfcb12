"""Phase diagrams: accuracy over a plane of two sizes, measured and predicted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from recallscope.cell import check_amount
from recallscope.measurement.axis import Axis
from recallscope.measurement.boundary import Boundary, boundary
from recallscope.problem import Problem, ProblemError, shown, whole_number
from recallscope.record import ACCURACIES, Record, Status, check_accuracy, check_target
from recallscope.statistics.intervals import Interval, mean_interval
from recallscope.theory.capacity import GROWS, SIZES, phase_map, solve
from recallscope.theory.problem_arrays import no_closed_form
from recallscope.theory.tested_range import say_extrapolated

if TYPE_CHECKING:
    pass


_OF_STEPS = ("regime", "eta", "gamma")


class Measured(NamedTuple):
    """What the runs of one cell showed.

    `right` has, for each run that is ok, how many of its `tests` were answered right; `interval`
    is the mean accuracy with its 95 % interval, and None where no run is ok.
    """

    right: tuple[int, ...] = ()
    tests: int = 0
    infeasible: int = 0
    failed: int = 0
    interval: Interval | None = None


@dataclass(frozen=True, kw_only=True)
class PhaseCell:
    """One point of the plane: what was measured there, and what the theory says, if anything.

    `predicted` is the accuracy by closed forms, `stage` and `term` the noise that limits it.
    """

    x: int
    y: int
    measured: Measured
    predicted: float | None = None
    stage: str | None = None
    term: str | None = None

    @property
    def difference(self) -> float | None:
        """Predicted minus measured."""
        interval = self.measured.interval
        if interval is None or self.predicted is None:
            return None
        return self.predicted - interval.mean

    @property
    def disagrees(self) -> bool:
        """Whether the prediction lies outside the interval of what was measured."""
        interval = self.measured.interval
        if interval is None or self.predicted is None:
            return False
        return not interval.low <= self.predicted <= interval.high

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the counts of right answers are one text, so that a row can hold them."""
        interval = self.measured.interval
        return {
            "right": " ".join(map(str, self.measured.right)),
            "tests": self.measured.tests,
            "infeasible": self.measured.infeasible,
            "failed": self.measured.failed,
            **{name: getattr(interval, name, None) for name in Interval._fields},
            "predicted": self.predicted,
            "difference": self.difference,
            "disagrees": self.disagrees,
            "stage": self.stage,
            "term": self.term,
        }


@dataclass(frozen=True, kw_only=True)
class PhaseDiagram:
    """Accuracy over a plane of two sizes: cells row by row, where rows follow `y`, columns `x`.

    Attributes:
        problem: what the cells share; its own values of the two sizes mean nothing.
        boundary: for each x, the y at which the measured accuracy crosses the target.
        theory_boundary: the same by closed forms; None where no y reaches the target.
        without_theory: why there is nothing by closed forms, if there is not.
        own: what was run, if it was an experiment of the user's own.
    """

    problem: Problem
    x: Axis
    y: Axis
    accuracy: str
    target: float
    cells: tuple[PhaseCell, ...]
    boundary: tuple[Boundary, ...]
    theory_boundary: tuple[int | None, ...]
    without_theory: str | None = None
    own: str | None = None

    @property
    def known(self) -> int:
        """How many cells have a measurement."""
        return sum(cell.measured.interval is not None for cell in self.cells)

    @property
    def compared(self) -> int:
        """How many of them there is a theory to compare with."""
        return 0 if self.without_theory else self.known

    @property
    def disagreeing(self) -> int:
        """In how many of them theory lies outside the interval; by chance alone, one in twenty."""
        return sum(cell.disagrees for cell in self.cells)

    @property
    def failed(self) -> int:
        """How many runs broke off."""
        return sum(cell.measured.failed for cell in self.cells)

    @property
    def infeasible(self) -> int:
        """How many runs this machine could not hold."""
        return sum(cell.measured.infeasible for cell in self.cells)

    @property
    def seeds(self) -> int:
        """How many runs the best measured cell has."""
        return max(len(cell.measured.right) for cell in self.cells)

    @property
    def problems(self) -> list[Problem]:
        """The problem of each cell."""
        names = self.x.name, self.y.name
        return [
            self.problem.replace(**dict(zip(names, (cell.x, cell.y), strict=True)))
            for cell in self.cells
        ]

    @property
    def shared(self) -> dict[str, Any]:
        """What all cells have in common, as plain values."""
        return _without(self.problem, self.x.name, self.y.name)

    def rows(self) -> list[dict[str, Any]]:
        """One plain row for each cell, from which `from_rows` makes the diagram again."""
        asked: dict[str, Any] = {"x": self.x.name, "y": self.y.name}
        asked |= {"accuracy": self.accuracy, "target": self.target, "own": self.own}
        shared = self.shared
        if self.problem.regime == "limit":  # then its step sizes are none
            shared = {name: shared[name] for name in shared if name not in _OF_STEPS}
        if "metrics" in shared:
            shared["metrics"] = " ".join(shared["metrics"])
        return [
            {self.x.name: cell.x, self.y.name: cell.y} | shared | asked | cell.to_dict()
            for cell in self.cells
        ]

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return {
            "problem": self.shared,
            "x": self.x._asdict(),
            "y": self.y._asdict(),
            "accuracy": self.accuracy,
            "target": self.target,
            "seeds": self.seeds,
            "without_theory": self.without_theory,
            "extrapolated": None if self.without_theory else say_extrapolated(self.problems),
            "cells": [
                {"x": cell.x, "y": cell.y} | cell.to_dict() | {"right": cell.measured.right}
                for cell in self.cells
            ],
            "boundary": [
                {"x": x} | crossing._asdict() | {"status": str(crossing.status)}
                for x, crossing in zip(self.x.values, self.boundary, strict=True)
            ],
            "theory_boundary": [
                {"x": x, "value": value}
                for x, value in zip(self.x.values, self.theory_boundary, strict=True)
            ],
            "disagreement": {
                "share": self.disagreeing / self.compared if self.compared else None,
                "count": self.disagreeing,
                "of": self.compared,
            },
        }


def plan(
    problem: Problem, x: Axis, y: Axis, seeds: int, first: int = 0
) -> list[tuple[Problem, int]]:
    """The runs that a phase diagram needs: every cell of the plane at seeds of its own.

    Seeds are not shared between cells, so that what cells say is independent, and more seeds only
    add to the list.

    >>> plane = Axis("dim", (8, 16)), Axis("samples", (32, 64))
    >>> runs = plan(Problem(vocab=64, samples=1, dim=1, length=4), *plane, seeds=2)
    >>> [(p.samples, p.dim, seed) for p, seed in runs[:5]]
    [(32, 8, 0), (32, 16, 1), (64, 8, 2), (64, 16, 3), (32, 8, 4)]
    """
    _check_plane(problem, x.name, y.name)
    _check_axes(x, y)
    check_amount("the phase diagram", len(x.values) * len(y.values), seeds)
    cells = [
        problem.replace(**{x.name: column, y.name: row}) for row in y.values for column in x.values
    ]
    return [
        (cell, first + turn * len(cells) + place)
        for turn in range(seeds)
        for place, cell in enumerate(cells)
    ]


def phase_diagram(
    records: Iterable[Record],
    x: str,
    y: str,
    accuracy: str = "recall_accuracy",
    target: float = 0.5,
) -> PhaseDiagram:
    """The phase diagram of runs that differ in two sizes and the seed only.

    Runs that are infeasible or failed are counted, and say nothing about the accuracy.

    >>> from recallscope import run
    >>> problem = Problem(vocab=64, samples=1, dim=1, length=4)
    >>> runs = plan(problem, Axis("dim", (8, 64)), Axis("samples", (16, 512)), seeds=2)
    >>> diagram = phase_diagram([run(*each) for each in runs], "dim", "samples")
    >>> [cell.measured.interval.mean > 0.5 for cell in diagram.cells], diagram.compared
    ([False, False, False, True], 4)
    """
    records = list(records)
    check_accuracy(accuracy, sorted({name for record in records for name in record.metrics}))
    check_target(target)
    found: dict[tuple[int, int], list[Record]] = defaultdict(list)
    shared: dict[str, Any] = {}
    for record in records:
        rest = _without(record.problem, x, y)
        for name in dict.fromkeys([*shared, *rest]):  # what is the default is not there
            if shared and rest.get(name) != shared.get(name):
                raise ProblemError(
                    f"the runs of a phase diagram differ in {x}, {y} and the seed only, but these "
                    f"have {name} {shared.get(name)!r} and {rest.get(name)!r}; choose the runs of "
                    "one plane"
                )
        shared = rest
        found[_place(record.problem, x, y)].append(record)
    if not found:
        raise ProblemError("a phase diagram needs runs, but there are none")
    own = {record.measure for runs in found.values() for record in runs}
    if len(own) > 1:
        raise ProblemError(
            f"the runs of a phase diagram are of one experiment, not of {sorted(map(str, own))}"
        )
    problem = next(iter(found.values()))[0].problem
    measured = {place: _measure(runs, accuracy) for place, runs in found.items()}
    return _diagram(problem, x, y, accuracy, target, measured, own.pop())


def from_rows(rows: Iterable[Mapping[str, Any]], target: float | None = None) -> list[PhaseDiagram]:
    """The phase diagrams of a table of cells, such as `PhaseDiagram.rows` gives.

    What was measured is taken from the table. The theory is evaluated again, and so is the boundary
    if another target is given.

    >>> rows = [
    ...     {"vocab": 64, "samples": n, "dim": d, "length": 4, "x": "dim", "y": "samples",
    ...      "accuracy": "recall_accuracy", "target": 0.5, "tests": 1000, "right": "900 910",
    ...      "mean": 0.905, "low": 0.8, "high": 0.95}
    ...     for n in (64, 256) for d in (16, 64)
    ... ]
    >>> (diagram,) = from_rows(rows)
    >>> diagram.seeds, [cell.disagrees for cell in diagram.cells]
    (2, [True, True, True, False])
    """
    planes: dict[tuple[Any, ...], dict[tuple[int, int], Measured]] = defaultdict(dict)
    problems: dict[tuple[Any, ...], Problem] = {}
    for row in rows:
        for name in ("x", "y", "accuracy", "target", "right", "tests", *Interval._fields):
            if name not in row:
                raise ProblemError(
                    f"a table of a phase diagram has a column {name!r}, and this one has not; "
                    "give a table that was written with a phase diagram"
                )
        x, y = row["x"], row["y"]
        for name in (x, y):
            if name not in SIZES:
                raise ProblemError(f"an axis of a table is one of {', '.join(SIZES)}, not {name!r}")
            whole_number(name, row.get(name), 1)
        asked = row["target"] if target is None else target
        check_accuracy(row["accuracy"], None)
        check_target(asked)
        problem = Problem.from_row(row)
        own = row.get("own")
        plane = (x, y, row["accuracy"], asked, own, *map(str, _without(problem, x, y).items()))
        problems.setdefault(plane, problem)
        if _place(problem, x, y) in planes[plane]:
            raise ProblemError(
                f"the table has two rows of {x}={row[x]}, {y}={row[y]}; keep one of them"
            )
        planes[plane][_place(problem, x, y)] = _read(row)
    if not planes:
        raise ProblemError(
            "the table of a phase diagram has a row for each cell, this one has none"
        )
    return [
        _diagram(problems[plane], plane[0], plane[1], plane[2], plane[3], cells, plane[4])
        for plane, cells in planes.items()
    ]


def _read(row: Mapping[str, Any]) -> Measured:
    """What a row of a table says was measured."""
    # The count of one run alone reads as a number, that of none as nothing.
    right = () if row["right"] is None else tuple(str(row["right"]).split())
    tests = whole_number("tests", row["tests"], 0)
    # Of 16 digits at most, as 2^53 has: Python reads no number of thousands of them.
    if not all(count.isdecimal() and len(count) <= 16 and int(count) <= tests for count in right):
        raise ProblemError(
            f"right must be numbers of tests, 0 to {tests} for each run, not {shown(row['right'])}"
        )
    mean, low, high = (row[name] for name in Interval._fields)
    if right and not (
        all(isinstance(end, (int, float)) for end in (mean, low, high))
        and 0 <= low <= mean <= high <= 1
    ):
        raise ProblemError(
            "mean, low and high must be accuracies with low <= mean <= high, "
            f"not {shown(mean)}, {shown(low)} and {shown(high)}"
        )
    return Measured(
        right=tuple(map(int, right)),
        tests=tests,
        infeasible=whole_number("infeasible", row.get("infeasible", 0), 0),
        failed=whole_number("failed", row.get("failed", 0), 0),
        interval=Interval(float(mean), float(low), float(high)) if right else None,
    )


def _measure(records: Sequence[Record], accuracy: str) -> Measured:
    """What the records of one cell show."""
    tested = [record for record in records if record.status is Status.OK]
    found = [record.accuracy(accuracy) for record in tested]
    tests = {size for _, size in found}
    if len(tests) > 1:
        raise ProblemError(
            f"the runs of a cell are tested on equally many samples, not on {sorted(tests)}"
        )
    size = tests.pop() if tests else 0
    rates = [rate for rate, _ in found]
    return Measured(
        right=tuple(round(rate * size) for rate in rates),
        tests=size,
        infeasible=sum(record.status is Status.INFEASIBLE for record in records),
        failed=sum(record.status is Status.FAILED for record in records),
        interval=mean_interval(rates, [size] * len(rates)) if rates else None,
    )


def _diagram(
    problem: Problem,
    x: str,
    y: str,
    accuracy: str,
    target: float,
    measured: Mapping[tuple[int, int], Measured],
    own: str | None,
) -> PhaseDiagram:
    """What was measured, beside what the theory says."""
    _check_plane(problem, x, y)
    columns = Axis(x, tuple(sorted({column for column, _ in measured})))
    rows = Axis(y, tuple(sorted({row for _, row in measured})))
    _check_axes(columns, rows)
    without_theory = no_closed_form(problem) if own is None else f"no closed form for {own}"
    if accuracy not in ACCURACIES:
        without_theory = without_theory or f"no closed form for {accuracy}"
    theory = None if without_theory else phase_map(problem, columns, rows, accuracy)
    cells = tuple(
        PhaseCell(
            x=column,
            y=row,
            measured=measured.get((column, row), Measured()),
            predicted=None if theory is None else float(theory.accuracy[i, j]),
            stage=None if theory is None else theory.stage[i][j],
            term=None if theory is None else theory.term[i][j],
        )
        for i, row in enumerate(rows.values)
        for j, column in enumerate(columns.values)
    )
    return PhaseDiagram(
        problem=problem,
        x=columns,
        y=rows,
        accuracy=accuracy,
        target=target,
        cells=cells,
        boundary=tuple(
            boundary(
                [(cell.y, cell.measured.interval) for cell in cells if cell.x == column],
                GROWS[y],
                target,
                failed=any(cell.measured.failed for cell in cells if cell.x == column),
            )
            for column in columns.values
        ),
        theory_boundary=tuple(
            None if theory is None else _solved(problem.replace(**{x: column}), y, target, accuracy)
            for column in columns.values
        ),
        without_theory=without_theory,
        own=own,
    )


def _solved(problem: Problem, y: str, target: float, accuracy: str) -> int | None:
    return solve(problem, y, target, accuracy).value


def _place(problem: Problem, x: str, y: str) -> tuple[int, int]:
    return getattr(problem, x), getattr(problem, y)


def _without(problem: Problem, x: str, y: str) -> dict[str, Any]:
    return {name: value for name, value in problem.to_dict().items() if name not in (x, y)}


def _check_plane(problem: Problem, x: str, y: str) -> None:
    """Raise unless these are two sizes that the problem has."""
    for name in (x, y):
        if name not in SIZES:
            raise ProblemError(f"a plane is of two of {', '.join(SIZES)}, not of {name!r}")
    if x == y:
        raise ProblemError(f"a plane is of two sizes, not of {x} twice")
    if "width" in (x, y) and problem.width is None:
        raise ProblemError("attention alone has no width; give a problem with one, any value")


def _check_axes(x: Axis, y: Axis) -> None:
    for axis in (x, y):
        if len(axis.values) < 2:
            raise ProblemError(
                f"an axis of a phase diagram needs at least two values, but {axis.name} has only "
                f"{axis.values[0]}"
            )
