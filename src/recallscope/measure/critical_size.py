"""The result of a search for a critical size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from recallscope.common.checks import LARGEST_SIZE
from recallscope.common.status import Status
from recallscope.plot.result import Drawing, Result
from recallscope.problem.axes import SIZES, axis_field
from recallscope.problem.problem import Problem
from recallscope.problem.rows import row_of
from recallscope.theory.choosing import extrapolated
from recallscope.theory.required_size import accuracies_along


def without_size(problem: Problem, quantity: str) -> Problem:
    """The problem with a value that means nothing, as it is the one sought: always the same one."""
    if quantity in SIZES:
        return problem.replace(**some_size(quantity))
    return problem.replace(**{quantity: axis_field(quantity, problem.parts()).default})


def some_size(quantity: str) -> dict[str, int]:
    """A size that every problem can have, whatever its embeddings; nothing for other fields."""
    if quantity not in SIZES:
        return {}
    return {quantity: 2 if quantity == "vocab" else LARGEST_SIZE}


@dataclass(frozen=True, kw_only=True, repr=False)
class CriticalSize(Result):
    """The result of a search.

    Status `ok`: `value` is the median of the posterior and lies, with 95 % probability, between
    `low` and `high`. Status `not_reached`: there is no value, and the one end that is known is a
    bound. Ends outside of the range searched are None. `log_mean` and `log_sd` are the posterior's,
    of the logarithm of the size, or of itself where its scale is linear.
    """

    problem: Problem
    quantity: str
    target: float
    accuracy: str
    status: Status
    value: float | None
    low: float | None
    high: float | None
    log_mean: float | None
    log_sd: float | None
    evaluations: int
    failures: int
    infeasible: int
    curve: list[dict[str, Any]]
    theory: float | None
    without_theory: str | None
    """Why there is nothing by closed forms, if there is not."""
    reason: str | None
    ended: str | None = None
    """How many trainings ended in each way."""
    own: str | None = None
    """The name of the user's experiment, if it was one."""
    seeds_passing: float | None = None
    """The fraction of seeds that is to reach the target, if not their mean."""
    all_or_nothing: str | None = None
    """Where hardly a run is near the target: how many reach it."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        sizes = {name: value for name, value in data["problem"].items() if value is not None}
        return super().from_dict({**data, "problem": some_size(data["quantity"]) | sizes})

    def rows(self) -> list[dict[str, Any]]:
        """The points of the curve: each size that was run, with its mean and interval."""
        return self.curve

    def summary_rows(self) -> list[dict[str, Any]]:
        """One row: the size with its interval, and what closed forms give."""
        sizes = {name: getattr(self, name) for name in ("value", "low", "high", "theory")}
        question = {"quantity": self.quantity, "accuracy": self.accuracy, "target": self.target}
        return [question | sizes | {"runs": self.evaluations, "status": str(self.status)}]

    def _words(self) -> str:
        crossed = f"{self.accuracy.replace('_', ' ')} {self.target:g}"
        if self.seeds_passing is not None:
            crossed += f" in {100 * self.seeds_passing:g} % of seeds"
        runs = f"{self.evaluations} runs"
        if self.all_or_nothing:
            runs += f", seeds are all-or-nothing: {self.all_or_nothing}"
        if self.value is None:
            return (
                f"no critical {self.quantity} of {crossed}: {self.status}; {self.reason} ({runs})"
            )
        low, high = ("out of range" if end is None else end for end in (self.low, self.high))
        theory = self.without_theory or f"closed forms: {self.theory or 'none'}"
        return (
            f"critical {self.quantity} of {crossed}: {self.value} ({low} to {high}, 95 %), "
            f"{theory}; {runs}{'' if self.ended is None else f', {self.ended}'}"
        )

    def _drawing(self) -> Drawing:
        return Drawing("critical", self.figure_data())

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON; the size sought is None in the problem."""
        sizes = self.problem.to_dict() | {self.quantity: None}
        outside = [reason for problem in self.predicted_at for reason in extrapolated(problem)]
        return super().to_dict() | {"problem": sizes, "extrapolated": outside}

    @property
    def predicted_at(self) -> list[Problem]:
        """The problem at the size that the closed forms give, if they give one."""
        if self.theory is None:
            return []
        return [self.problem.replace(**{self.quantity: self.theory})]

    def figure_data(self) -> dict[str, Any]:
        """Return what `critical_figure` draws: `to_dict`, and `theory_curve`.

        The `theory_curve` has rows of `size` and `accuracy` by the closed forms, over the sizes
        that were run and a little beyond. It is empty if there are no closed forms or no runs.
        """
        curve: list[dict[str, float]] = []
        if self.curve and self.without_theory is None:
            sizes = [point["size"] for point in self.curve]
            ends = min(sizes) / 1.2, max(sizes) * 1.2
            curve = [
                {"size": size, "accuracy": accuracies[self.accuracy]}
                for size, accuracies in accuracies_along(self.problem, self.quantity, *ends)
                if self.accuracy in accuracies
            ]
        return self.to_dict() | {"theory_curve": curve}

    def row(self) -> dict[str, Any]:
        """One flat row for a table of critical sizes; the points of the curve are not in it."""
        fields = self.to_dict()
        del fields["curve"], fields["extrapolated"]
        del fields["problem"]
        return row_of(self.problem, fields) | {self.quantity: None}
