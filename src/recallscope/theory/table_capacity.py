"""The theory of tables turned round: what size reaches a target on a table of embeddings.

Every accuracy is a prediction that takes a second or so, so sizes are looked for in steps of four,
then halved down to two percent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from recallscope.common.progress_bar import ProgressCallback
from recallscope.plotting.panels import Picture
from recallscope.plotting.result import Drawing, picture_drawing
from recallscope.problem import Problem, ProblemError
from recallscope.record import check_accuracy, check_target
from recallscope.theory.capacity import SolvedSize
from recallscope.theory.problem_arrays import NoClosedFormError
from recallscope.theory.sizes import GROWS
from recallscope.theory.table_prediction import (
    TablePrediction,
    no_table_form,
    table_bytes,
    table_memory,
)

_FARTHEST = {"vocab": (4, 16_384), "dim": (4, 4096), "length": (2, 4096)}
_MOST_PER_FACT = 1e6
_STEP, _CLOSE = 4.0, 1.02


@dataclass(frozen=True, kw_only=True, repr=False)
class TableSolution(SolvedSize):
    """The size that reaches a target on a table, to two percent, or why there is none.

    The prediction is that of the solved size, or of the last one that was looked at.
    """

    prediction: TablePrediction

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON: the prediction, and what was asked and found."""
        asked = ("quantity", "target", "accuracy", "value")
        found = {name: getattr(self, name) for name in asked} | {"status": str(self.status)}
        return self.prediction.to_dict() | found | {"reason": self.reason}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> TableSolution:
        """The inverse of `to_dict`."""
        names = ("quantity", "target", "accuracy", "value", "reason")
        return cls(
            **{name: told[name] for name in names}, prediction=TablePrediction.from_dict(told)
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row: the problem at the solved size, what was asked, and what was found."""
        (row,) = self.prediction.rows()
        asked = {"quantity": self.quantity, "target": self.target, "accuracy": self.accuracy}
        return [row | asked | {"value": self.value, "status": str(self.status)}]

    def _words(self) -> str:
        reached = f"{self.accuracy.replace('_', ' ')} {self.target:g}"
        if self.value is None:
            return f"no {self.quantity} reaches {reached}: {self.reason}"
        said = f"{self.quantity} = {self.value} reaches {reached} on these embeddings"
        return f"{said}; {self.reason}" if self.reason else said

    def _drawing(self) -> Drawing:
        return picture_drawing(self._picture())

    def _picture(self) -> Picture:
        return self.prediction._picture()


def solve_table(
    problem: Problem,
    quantity: str,
    target: float,
    accuracy: str,
    predict: Callable[[Problem, ProgressCallback], TablePrediction],
    progress: ProgressCallback = lambda done, total: None,
) -> TableSolution:
    """The smallest samples or dim, or the largest vocab or length, by predictions of tables.

    No size is looked at whose tables need more memory than there is.
    """
    if quantity not in (*_FARTHEST, "samples"):
        raise ProblemError(
            f"on tables one can solve for {', '.join(_FARTHEST)} or samples, not {quantity!r}"
        )
    check_accuracy(accuracy)
    check_target(target)
    if reason := no_table_form(problem):
        raise NoClosedFormError(reason)
    least, most = _FARTHEST.get(quantity, (1, _MOST_PER_FACT * problem.vocab))
    if quantity == "dim":
        least = max(least, getattr(problem, "rank", 0))
    held = most
    while held > least and table_bytes(problem.replace(**{quantity: held})) > table_memory():
        held = max(held // 2, least)
    beyond = "; larger ones need more memory than there is" if held < most else ""
    most = held
    grows = GROWS[quantity]
    steps = math.log(most / least, _STEP) + math.log2(math.log(_STEP) / math.log(_CLOSE)) + 2
    found: dict[int, TablePrediction] = {}

    def reached(size: float) -> bool:
        whole = round(size)
        if whole not in found:
            before = len(found)
            found[whole] = predict(
                problem.replace(**{quantity: whole}),
                lambda done, total: progress(min(before + done / total, steps), steps),
            )
        return float(getattr(found[whole], accuracy)) >= target

    # From the side that is easy to work out to the first size on the other side of the target.
    inside, outside = None, None
    size = float(least)
    while True:
        if reached(size) == grows:
            inside = size
            break
        outside = size
        if size >= most:
            break
        size = min(size * _STEP, most)
    if (inside if grows else outside) is None:
        best = max(found, key=lambda each: float(getattr(found[each], accuracy)))
        at = getattr(found[best], accuracy)
        return TableSolution(
            quantity=quantity,
            target=float(target),
            accuracy=accuracy,
            value=None,
            reason=f"it is {at:.3g} at {quantity} = {best}, and those from {least} on were tried"
            f"{beyond}",
            prediction=found[best],
        )
    low, high = outside or least, inside or most
    while high > low * _CLOSE and high - low > 1:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reached(middle) == grows else (middle, high)
    value = round(high if grows else low)
    reached(value)
    return TableSolution(
        quantity=quantity,
        target=float(target),
        accuracy=accuracy,
        value=value,
        reason=f"no larger one was looked at{beyond}" if inside is None else None,
        prediction=found[value],
    )
