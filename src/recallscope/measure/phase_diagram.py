"""A phase diagram: accuracy over a plane of two sizes, measured and predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from recallscope.common.plain import from_fields, plain
from recallscope.measure.boundary import Boundary
from recallscope.plot.result import Drawing, Result
from recallscope.problem.axes import Axis, axis_field
from recallscope.problem.problem import Problem
from recallscope.statistics.intervals import Interval
from recallscope.theory.choosing import law_in_words, say_extrapolated
from recallscope.theory.phase_map import target_line

TOLERANCE = 0.01
"""A predicted accuracy that is this close to the interval of a cell is not called wrong."""

_OF_STEPS = ("regime", "eta", "gamma")


def no_boundary(problem: Problem, y: str) -> str | None:
    """Why no value of a field is a boundary, if none is.

    >>> adam = Problem(vocab=64, samples=256, dim=16, length=4, learner="adam")
    >>> no_boundary(adam, "learning_rate")
    'recall neither rises nor falls with learning_rate alone, so there is no boundary along it'
    >>> no_boundary(adam, "samples") is None
    True
    """
    if axis_field(y, problem.parts()).monotone is not None:
        return None
    return f"recall neither rises nor falls with {y} alone, so there is no boundary along it"


def shared_fields(problem: Problem, x: str, y: str) -> dict[str, Any]:
    """The fields of a problem without two sizes, as plain values."""
    return {name: value for name, value in problem.to_dict().items() if name not in (x, y)}


class Measured(NamedTuple):
    """The result of the runs of one cell.

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

    `predicted` is the accuracy by a law, `stage` and `term` the noise that limits it.
    """

    x: float
    y: float
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
        """Whether the prediction is off by more than the tolerance beyond the interval."""
        interval = self.measured.interval
        if interval is None or self.predicted is None:
            return False
        return not interval.low - TOLERANCE <= self.predicted <= interval.high + TOLERANCE

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the counts of right answers are one text, which fits into a cell."""
        counts = self.measured._asdict() | {"right": " ".join(map(str, self.measured.right))}
        interval = counts.pop("interval")
        ends = {name: getattr(interval, name, None) for name in Interval._fields}
        compared = ("predicted", "difference", "disagrees", "stage", "term")
        return counts | ends | {name: getattr(self, name) for name in compared}


@dataclass(frozen=True, kw_only=True, repr=False)
class PhaseDiagram(Result):
    """Accuracy over a plane of two sizes: cells row by row, where rows follow `y`, columns `x`.

    Attributes:
        problem: what is common to the cells; its values of the two sizes mean nothing.
        boundary: for each x, the y at which the measured accuracy crosses the target; empty where
            `no_boundary` says why.
        theory_boundary: the same by a law; None where no y reaches the target.
        without_theory: why no law says anything, if none does.
        own: the name of the custom experiment, if one was run.
        law: by which the cells are predicted.
    """

    problem: Problem
    x: Axis
    y: Axis
    accuracy: str
    target: float
    cells: tuple[PhaseCell, ...]
    boundary: tuple[Boundary, ...]
    theory_boundary: tuple[float | None, ...]
    without_theory: str | None = None
    own: str | None = None
    law: str | None = None

    _in_json = ("x", "y", "accuracy", "target", "seeds", "without_theory")

    @property
    def no_boundary(self) -> str | None:
        """Why there is no boundary along y; None if there is one."""
        return no_boundary(self.problem, self.y.name)

    @cached_property
    def theory_line(self) -> tuple[tuple[float, float | None], ...]:
        """The theory's boundary between the values of x too, as a fine curve of x and y."""
        if self.without_theory:
            return ()
        return target_line(self.problem, self.x, self.y, self.accuracy, self.target)

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
        """In how many of them theory is off by more than the tolerance beyond the interval."""
        return sum(cell.disagrees for cell in self.cells)

    @property
    def failed(self) -> int:
        """How many runs broke off."""
        return sum(cell.measured.failed for cell in self.cells)

    @property
    def infeasible(self) -> int:
        """How many runs did not fit into this machine."""
        return sum(cell.measured.infeasible for cell in self.cells)

    @property
    def seeds(self) -> int:
        """How many runs the best measured cell has."""
        return max(len(cell.measured.right) for cell in self.cells)

    @property
    def problems(self) -> list[Problem]:
        """The problem of each cell."""
        sizes = [{self.x.name: cell.x, self.y.name: cell.y} for cell in self.cells]
        return [self.problem.replace(**size) for size in sizes]

    @property
    def shared(self) -> dict[str, Any]:
        """The fields that all cells have in common, as plain values."""
        return shared_fields(self.problem, self.x.name, self.y.name)

    def rows(self) -> list[dict[str, Any]]:
        """One plain row for each cell, from which `from_rows` makes the diagram again."""
        question: dict[str, Any] = {"x": self.x.name, "y": self.y.name}
        question |= {"accuracy": self.accuracy, "target": self.target, "own": self.own}
        shared = self.shared
        if self.problem.regime == "limit":  # then its step sizes are None
            shared = {name: shared[name] for name in shared if name not in _OF_STEPS}
        if metrics := shared.pop("metrics"):
            shared["metrics"] = " ".join(metrics)
        return [
            {self.x.name: cell.x, self.y.name: cell.y} | shared | question | cell.to_dict()
            for cell in self.cells
        ]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PhaseDiagram:
        """The inverse of `to_dict`."""
        fields = dict(data)
        cells = [
            cell | {"measured": cell | {"interval": None if cell["mean"] is None else cell}}
            for cell in fields["cells"]
        ]
        sizes = {fields[axis]["name"]: cells[0][axis] for axis in ("x", "y")}
        fields |= {"problem": fields["problem"] | sizes, "cells": cells}
        fields["theory_boundary"] = [point["value"] for point in fields["theory_boundary"]]
        return from_fields(cls, fields)

    def _words(self) -> str:
        crossed = f"{self.accuracy.replace('_', ' ')} {self.target:g}"
        plane = f"{len(self.x.values)} × {len(self.y.values)} values of {self.x.name} and "
        theory = self.without_theory or (
            f"the law {self.law} is off by more than {TOLERANCE:g} beyond the 95 % interval in "
            f"{self.disagreeing} of {self.compared} cells"
        )
        lost = f"; {self.failed} runs failed" if self.failed else ""
        return f"phase diagram of {crossed} over {plane}{self.y.name}: {theory}{lost}"

    def _drawing(self) -> Drawing:
        return PhaseDiagrams(diagrams=[self])._drawing()

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        columns = () if self.no_boundary else self.x.values
        return {
            "problem": self.shared,
            **super().to_dict(),
            **law_in_words(self.law),
            "no_boundary": self.no_boundary,
            "extrapolated": None if self.without_theory else say_extrapolated(self.problems),
            "cells": [
                {"x": cell.x, "y": cell.y} | cell.to_dict() | {"right": cell.measured.right}
                for cell in self.cells
            ],
            "boundary": [
                {"x": x} | plain(crossing)
                for x, crossing in zip(columns, self.boundary, strict=True)
            ],
            "theory_boundary": [
                {"x": x, "value": value}
                for x, value in zip(columns, self.theory_boundary, strict=True)
            ],
            "disagreement": {
                "share": self.disagreeing / self.compared if self.compared else None,
                "count": self.disagreeing,
                "of": self.compared,
                "tolerance": TOLERANCE,
            },
            "theory_line": [{"x": x, "value": value} for x, value in self.theory_line],
            "own": self.own,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class PhaseDiagrams(Result):
    """Several phase diagrams of one table, drawn side by side."""

    diagrams: Sequence[PhaseDiagram]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each cell of each."""
        return [row for diagram in self.diagrams for row in diagram.rows()]

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON; of a single one, that one's."""
        documents = [diagram.to_dict() for diagram in self.diagrams]
        return documents[0] if len(documents) == 1 else {"diagrams": documents}

    def _words(self) -> str:
        return "; ".join(map(repr, self.diagrams))

    def _drawing(self) -> Drawing:
        return Drawing("phase_diagram", [diagram.to_dict() for diagram in self.diagrams])
