"""The law that a table of critical sizes follows, next to the one that theory gives."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from recallscope.common.checks import check_target
from recallscope.common.errors import ProblemError
from recallscope.common.plain import plain, unplain, with_inf
from recallscope.measure.critical_size import CriticalSize, some_size
from recallscope.plot.result import Drawing, Result
from recallscope.problem.axes import axes_of, axis_field, sizes_between
from recallscope.problem.metrics import check_accuracy
from recallscope.problem.naming import named_parts
from recallscope.problem.problem import Problem, smallest_dim
from recallscope.problem.rows import problem_of
from recallscope.statistics import power_law
from recallscope.statistics.expected_law import ExpectedLaw, expected_law
from recallscope.statistics.power_law import Collapse, FitStatus, Points, PowerLaw
from recallscope.theory.required_size import solve

_FINE = 16  # points of the line of closed forms
_ONE_QUESTION = ("quantity", "target", "accuracy")


class CurvePoint(NamedTuple):
    """A mean accuracy at one size of one problem, which is given by its place in the table."""

    problem: int
    log_size: float
    accuracy: float
    runs: int


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Scaling(Result):
    """Critical sizes, the law fitted to them, and the same fit to what closed forms give there.

    `theory` has the exponents of the closed forms over the same points. It is empty where the
    theory does not reach the target at enough of them. `curve` and `collapse` are there if the runs
    are known, not if the critical sizes come from a table alone.
    """

    quantity: str
    target: float
    accuracy: str
    sizes: list[dict[str, Any]]
    points: Points
    law: PowerLaw
    theory: dict[str, float]
    curve: list[CurvePoint]
    collapse: Collapse | None
    expected: ExpectedLaw | None = None

    def expecting(self, exponents: Mapping[str, float]) -> Scaling:
        """The same with somebody's exponents tested, and their law drawn with the points."""
        return replace(self, expected=expected_law(self.points, exponents))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scaling:
        """The inverse of `to_dict`; the law is fitted again to the same points."""
        scaling = scaling_from_rows(unplain(list[dict[str, float | None]], data["points"]))
        curve = unplain(list[CurvePoint], data["curve"])
        scaling = replace(scaling, curve=curve, collapse=unplain(Collapse | None, data["collapse"]))
        return scaling.expecting((data["expected"] or {}).get("exponents", {}))

    def rows(self) -> list[dict[str, Any]]:
        """A row for each critical size."""
        return self.sizes

    def summary_rows(self) -> list[dict[str, Any]]:
        """The exponents, each with its interval, that of closed forms and how well the law fits."""
        return [
            {"size": name, "exponent": power.value, "low": power.low, "high": power.high}
            | {"closed forms": self.theory.get(name), "fit": str(self.law.status)}
            | {"p": self.law.p_value, "critical sizes": self.law.reached}
            for name, power in self.law.exponents.items()
        ]

    def _words(self) -> str:
        powers = ", ".join(
            f"{name}^{power.value:.2f} ({power.low:.2f} to {power.high:.2f})"
            for name, power in self.law.exponents.items()
        )
        law = powers if self.law.status is not FitStatus.UNDETERMINED else "not determined"
        if self.expected is not None:
            data = ", ".join(f"{name}^{power:g}" for name, power in self.expected.exponents.items())
            law += f"; expected {data}: p = {self.expected.p_value:.2g}"
        return (
            f"law of the critical {self.quantity}: {law}; {self.law.reached} critical sizes, "
            f"goodness of fit p = {self.law.p_value:.2g}"
        )

    def _drawing(self) -> Drawing:
        return Drawing("scaling", self.figure_data())

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        law = self.law.to_dict()
        for name, power in law["exponents"].items():
            power["theory"] = self.theory.get(name)
        question = {name: getattr(self, name) for name in _ONE_QUESTION}
        comparisons = plain({"collapse": self.collapse, "expected": self.expected})
        points = {"points": [with_inf(row) for row in self.sizes], "curve": plain(self.curve)}
        return {**question, **law, **comparisons, **points}

    def figure_data(self) -> dict[str, Any]:
        """Return what `scaling_figure` draws: `to_dict`, and

        - `panels`, for each `size` that was varied: its critical sizes as `points`, which the law
          has brought to the mean of the other sizes, each with `x`, `value`, `log_sd`, `bound` and
          `theory`; and the ends of the law's `line`, of `x` and `value`;
        - `collapse_points`, for each mean of the runs: the number of its `problem`, the `ratio` of
          its size to the critical one of the law, and its `accuracy`.

        Without a law, points are where they were measured, and there are no lines.
        """
        curve = [] if self.collapse is None else self.curve
        return self.to_dict() | {
            "panels": [self._panel(name) for name in self.points.names],
            "collapse_points": [
                {
                    "problem": point.problem,
                    "ratio": math.exp(point.log_size - self.law.predict(self.sizes[point.problem])),
                    "accuracy": point.accuracy,
                }
                for point in curve
            ],
        }

    def _panel(self, size: str) -> dict[str, Any]:
        """The critical sizes and the law against one other size."""
        points = self.points
        rows = [row for row in self.sizes if _is_point(row)]
        shifts, line, expected = [0.0] * len(rows), [], []
        if self.law.status is not FitStatus.UNDETERMINED:
            means = np.exp(points.x[points.bound == 0].mean(axis=0))
            centre = dict(zip(points.names, means.tolist(), strict=True))
            shifts = [
                self.law.predict(row) - self.law.predict(centre | {size: row[size]}) for row in rows
            ]
            values = [float(row[size]) for row in rows]
            line, expected = (
                [
                    {"x": end, "value": math.exp(law.predict(centre | {size: end}))}
                    for end in (min(values), max(values))
                    if law is not None
                ]
                for law in (self.law, self.expected)
            )
        return {
            "size": size,
            "points": [
                {
                    "x": float(row[size]),
                    "value": math.exp(points.y[number] - shift),
                    "log_sd": float(points.error[number]),
                    "bound": int(points.bound[number]),
                    "theory": row["theory"] / math.exp(shift) if row.get("theory") else None,
                }
                for number, (row, shift) in enumerate(zip(rows, shifts, strict=True))
            ],
            "line": line,
            "expected_line": expected,
            "theory_line": self._theory_line(size),
        }

    def _theory_line(self, size: str) -> list[dict[str, Any]]:
        """The critical size by closed forms along a size, the others at their mean; none if the
        table does not say what was run.
        """
        reached = [row for row in self.sizes if _is_point(row)]
        if not reached or any(row.get("theory") is None for row in reached):
            return []
        middle = {
            name: round(math.exp(np.mean([math.log(row[name]) for row in reached])))
            for name in self.points.names
        }
        values = [float(row[size]) for row in reached]
        line = []
        for x in sizes_between(min(values), max(values), _FINE):
            fields = {**reached[0], **middle, size: x, **some_size(self.quantity)}
            try:
                solution = solve(problem_of(fields), self.quantity, self.target, self.accuracy)
            except ProblemError:  # of a table of somebody else's
                return []
            line.append({"x": x, "value": solution.value})
        return line


def _is_point(row: Mapping[str, Any]) -> bool:
    """Whether a row says anything of its critical size; see `read_points`."""
    bounded = row.get("low") is not None or row.get("high") is not None
    return row["status"] == "ok" or (row["status"] == "not_reached" and bounded)


def scaling_of(critical_sizes: Sequence[CriticalSize]) -> Scaling:
    """The law of critical sizes that were just measured, with the collapse of their curves."""
    scaling = scaling_from_rows([critical_size.row() for critical_size in critical_sizes])
    curve = [
        CurvePoint(number, math.log(point["size"]), point["accuracy"], point["runs"])
        for number, critical_size in enumerate(critical_sizes)
        for point in critical_size.curve
        if critical_size.value is not None
    ]
    # The curves of a collapse rise; those of a size that hurts do so from right to left.
    sign = 1 if axis_field(scaling.quantity, critical_sizes[0].problem.parts()).grows else -1
    reached = {
        n: sign * critical_size.log_mean
        for n, critical_size in enumerate(critical_sizes)
        if critical_size.log_mean is not None
    }
    collapsed = None
    if curve and math.isfinite(scaling.law.constant):
        collapsed = power_law.collapse(
            np.array([sign * point.log_size for point in curve]),
            np.array([point.accuracy for point in curve]),
            np.array([point.problem for point in curve]),
            {number: sign * scaling.law.predict(scaling.sizes[number]) for number in reached},
            reached,
            np.array([float(point.runs) for point in curve]),
        )
    return replace(scaling, curve=curve, collapse=collapsed)


def scaling_from_rows(rows: Sequence[Mapping[str, Any]]) -> Scaling:
    """The law of a table of critical sizes, in all sizes that take more than one value in it.

    >>> rows = [{"dim": d, "length": 16, "quantity": "samples", "target": 0.5,
    ...          "accuracy": "recall_accuracy", "status": "ok", "value": 10**6 // d, "theory": None,
    ...          "low": 980_000 // d, "high": 1_020_000 // d} for d in (32, 48, 64, 96, 128)]
    >>> round(scaling_from_rows(rows).law.exponents["dim"].value, 2)
    -1.0
    """
    if not rows:
        raise ProblemError("a law needs critical sizes, and the table has no rows")
    questions: set[tuple[Any, ...]] = {
        tuple(row.get(name) for name in _ONE_QUESTION) for row in rows
    }
    if len(questions) > 1 or None in next(iter(questions)):
        raise ProblemError(
            "a law is of one quantity, one target and one accuracy; "
            f"the table has {sorted(map(str, questions))!s:.300}"
        )
    quantity, target, accuracy = next(iter(questions))
    every = axes_of(named_parts(rows[0]))
    if quantity not in every:
        raise ProblemError(f"a law is of one of {', '.join(every)}, not of {quantity!r:.60}")
    check_target(target)
    check_accuracy(accuracy, None)
    names = [
        name
        for name in every
        if name != quantity and len({row.get(name) for row in rows} - {None}) > 1
    ]
    if not names:
        raise ProblemError("a law needs a size that takes more than one value, and none does")
    points = power_law.read_points(rows, names)
    return Scaling(
        quantity=quantity,
        target=target,
        accuracy=accuracy,
        sizes=[dict(row) for row in rows],
        points=points,
        law=power_law.fit_law(points),
        theory=_theory_exponents(rows, names),
        curve=[],
        collapse=None,
    )


def _theory_exponents(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, float]:
    """Those of the closed forms over the same points, each point weighted alike."""
    known = [row for row in rows if row["status"] == "ok" and row.get("theory")]
    for row in known:
        power_law.check_positive("theory", row["theory"])
    x = np.log([[float(row[name]) for name in names] for row in known]).reshape(-1, len(names))
    design = np.column_stack([np.ones(len(known)), x])
    if len(known) <= len(names) or np.linalg.matrix_rank(design) <= len(names):
        return {}
    y = np.log([float(row["theory"]) for row in known])
    powers = np.linalg.lstsq(design, y, rcond=None)[0][1:]
    return {name: float(power) for name, power in zip(names, powers, strict=True)}


def one_at_a_time(
    problem: Problem, axes: Sequence[tuple[str, Sequence[float]]], sought: str = "samples"
) -> list[Problem]:
    """The problem with each size changed in turn, the others as they are; none twice.

    The value of the size sought means nothing: it is one that makes a problem.

    >>> base = Problem(vocab=512, samples=1, dim=64, length=16)
    >>> varied = one_at_a_time(base, [("dim", [32, 64]), ("length", [8, 16])])
    >>> [(p.dim, p.length) for p in varied]
    [(32, 16), (64, 16), (64, 8)]
    """

    def changed(name: str, value: float) -> Problem:
        changes = {name: value}
        if sought == "dim":
            vocab = value if name == "vocab" else problem.vocab
            changes["dim"] = smallest_dim(problem.embedding, int(vocab))
        return problem.replace(**changes)

    return list(dict.fromkeys(changed(name, value) for name, values in axes for value in values))
