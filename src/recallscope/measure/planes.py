"""The plane of a phase diagram: its runs, and what records or the rows of a table say of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recallscope.common.checks import check_target, shown, whole_number
from recallscope.common.errors import ProblemError
from recallscope.common.status import Status
from recallscope.experiment.cell import check_amount
from recallscope.experiment.record import Record
from recallscope.measure import phase_diagram as diagrams
from recallscope.measure.boundary import boundary
from recallscope.measure.phase_diagram import Measured, PhaseCell, PhaseDiagram
from recallscope.problem.axes import Axis, axis_field
from recallscope.problem.metrics import ACCURACIES, check_accuracy
from recallscope.problem.problem import Problem
from recallscope.problem.rows import problem_of
from recallscope.statistics.intervals import Interval, mean_interval
from recallscope.theory.phase_map import no_phase_map, phase_map
from recallscope.theory.required_size import check_has, solve


def check_plan(problem: Problem, x: Axis, y: Axis, seeds: int) -> None:
    """Raise unless a plane can be measured at so many seeds."""
    _check_plane(problem, x.name, y.name)
    _check_axes(x, y)
    check_amount("the phase diagram", len(x.values) * len(y.values), seeds)


_PATIENCE = 60.0  # seconds that a law may take, to be shown with what was measured


def plan(
    problem: Problem, x: Axis, y: Axis, seeds: int, first: int = 0
) -> list[tuple[Problem, int]]:
    """The runs that a phase diagram needs: every cell of the plane at other seeds.

    Cells have no seed in common, so they are independent, and more seeds only add to the list.

    >>> plane = Axis("dim", (8, 16)), Axis("samples", (32, 64))
    >>> runs = plan(Problem(vocab=64, samples=1, dim=1, length=4), *plane, seeds=2)
    >>> [(p.samples, p.dim, seed) for p, seed in runs[:5]]
    [(32, 8, 0), (32, 16, 1), (64, 8, 2), (64, 16, 3), (32, 8, 4)]
    """
    check_plan(problem, x, y, seeds)
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
    >>> diagram = phase_diagram([run(*planned) for planned in runs], "dim", "samples")
    >>> [cell.measured.interval.mean > 0.5 for cell in diagram.cells], diagram.compared
    ([False, False, False, True], 4)
    """
    records = list(records)
    check_accuracy(accuracy, sorted({name for record in records for name in record.metrics}))
    check_target(target)
    by_place: dict[tuple[float, float], list[Record]] = defaultdict(list)
    shared: dict[str, Any] = {}
    if records:
        _check_plane(records[0].problem, x, y)
    for record in records:
        rest = diagrams.shared_fields(record.problem, x, y)
        for name in dict.fromkeys([*shared, *rest]):  # what is the default is not there
            if shared and rest.get(name) != shared.get(name):
                raise ProblemError(
                    f"the runs of a phase diagram differ in {x}, {y} and the seed only, but these "
                    f"have {name} {shared.get(name)!r} and {rest.get(name)!r}; choose the runs of "
                    "one plane"
                )
        shared = rest
        by_place[_place(record.problem, x, y)].append(record)
    if not by_place:
        raise ProblemError("a phase diagram needs runs, but there are none")
    own = {record.measure for runs in by_place.values() for record in runs}
    if len(own) > 1:
        raise ProblemError(
            f"the runs of a phase diagram are of one experiment, not of {sorted(map(str, own))}"
        )
    problem = next(iter(by_place.values()))[0].problem
    measured = {place: _measure(runs, accuracy) for place, runs in by_place.items()}
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
    planes: dict[tuple[Any, ...], dict[tuple[float, float], Measured]] = defaultdict(dict)
    problems: dict[tuple[Any, ...], Problem] = {}
    for row in rows:
        for name in ("x", "y", "accuracy", "target", "right", "tests", *Interval._fields):
            if name not in row:
                raise ProblemError(
                    f"a table of a phase diagram has a column {name!r}, and this one does not; "
                    "give a table that was written with a phase diagram"
                )
        x, y = row["x"], row["y"]
        if not {x, y} <= set(row):
            raise ProblemError(f"axes of a table are columns of it, not {x!r:.60} and {y!r:.60}")
        row_target = row["target"] if target is None else target
        check_accuracy(row["accuracy"], None)
        check_target(row_target)
        problem = problem_of(row)
        own = row.get("own")
        rest = diagrams.shared_fields(problem, x, y)
        plane = (x, y, row["accuracy"], row_target, own, *map(str, rest.items()))
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
    """Return the measurement that a row of a table has."""
    # The count of one run alone reads as a number, that of none as nothing.
    right = () if row["right"] is None else tuple(str(row["right"]).split())
    tests = whole_number("tests", row["tests"], 0)
    # At most 16 digits, as 2^53 has: Python reads no number of thousands of digits.
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
    """Return the result of the records of one cell."""
    tested = [record for record in records if record.status is Status.OK]
    accuracies = [record.accuracy(accuracy) for record in tested]
    tests = {size for _, size in accuracies}
    if len(tests) > 1:
        raise ProblemError(
            f"the runs of a cell are tested on equally many samples, not on {sorted(tests)}"
        )
    size = tests.pop() if tests else 0
    rates = [rate for rate, _ in accuracies]
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
    measured: Mapping[tuple[float, float], Measured],
    own: str | None,
) -> PhaseDiagram:
    """Return the measured cells next to their predictions."""
    _check_plane(problem, x, y)
    columns = Axis(x, tuple(sorted({column for column, _ in measured})))
    rows = Axis(y, tuple(sorted({row for _, row in measured})))
    _check_axes(columns, rows)
    without_theory = None if own is None else f"no closed form for {own}"
    if accuracy not in ACCURACIES:
        without_theory = without_theory or f"no closed form for {accuracy}"
    without_theory = without_theory or no_phase_map(problem, columns, rows, _PATIENCE)
    theory = None if without_theory else phase_map(problem, columns, rows, accuracy)
    cells = tuple(
        PhaseCell(
            x=column,
            y=row,
            measured=measured.get((column, row), Measured()),
            **({} if theory is None else theory.cell(i, j)),
        )
        for i, row in enumerate(rows.values)
        for j, column in enumerate(columns.values)
    )
    field = axis_field(y, problem.parts())
    crossed = () if diagrams.no_boundary(problem, y) else columns.values
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
                field.grows,
                target,
                failed=any(cell.measured.failed for cell in cells if cell.x == column),
            )
            for column in crossed
        ),
        theory_boundary=tuple(
            None
            if theory is None
            else solve(problem.replace(**{x: column}), y, target, accuracy).value
            for column in crossed
        ),
        without_theory=without_theory,
        own=own,
        law=None if theory is None else theory.law,
    )


def _place(problem: Problem, x: str, y: str) -> tuple[float, float]:
    return getattr(problem, x), getattr(problem, y)


def _check_plane(problem: Problem, x: str, y: str) -> None:
    """Raise unless these are two sizes that the problem has."""
    for name in (x, y):
        axis_field(name, problem.parts())
        check_has(problem, name)
    if x == y:
        raise ProblemError(f"a plane is of two sizes, not of {x} twice")


def _check_axes(x: Axis, y: Axis) -> None:
    for axis in (x, y):
        if len(axis.values) < 2:
            raise ProblemError(
                f"an axis of a phase diagram needs at least two values, but {axis.name} has only "
                f"{axis.values[0]}"
            )
