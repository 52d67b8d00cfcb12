"""The closed forms turned round: what size reaches a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recallscope.parts.naming import find_part
from recallscope.plotting.panels import Kind, Panel, Picture, Series
from recallscope.plotting.result import Drawing, Result, picture_drawing
from recallscope.problem import LARGEST_SIZE, Problem, ProblemError, smallest_dim
from recallscope.record import Status, check_accuracy, check_target
from recallscope.theory.accuracy import Accuracies, accuracies
from recallscope.theory.noise import OWN_STAGE, costs
from recallscope.theory.prediction import Prediction, predict
from recallscope.theory.problem_arrays import ProblemArrays, arrays_of
from recallscope.theory.recorded_error import recorded_error
from recallscope.theory.sizes import GROWS, SIZES

if TYPE_CHECKING:
    from jaxtyping import Float

    from recallscope.theory.table_prediction import TablePrediction

_AT_ONCE = 50  # sizes that the search for a solution looks at


@dataclass(frozen=True, kw_only=True, repr=False)
class SolvedSize(Result):
    """What was asked for, the size that was found, and the prediction at it."""

    quantity: str
    target: float
    accuracy: str
    value: int | None
    reason: str | None
    prediction: Prediction | TablePrediction

    @property
    def problem(self) -> Problem:
        """The problem that the prediction is of."""
        return self.prediction.problem

    @property
    def status(self) -> Status:
        """Whether there is such a size."""
        return Status.NOT_REACHED if self.value is None else Status.OK


@dataclass(frozen=True, kw_only=True, repr=False)
class Solution(SolvedSize):
    """The size that reaches a target, or why there is none.

    The prediction is that of the solved size, or of the one that comes closest.

    >>> solve(Problem(vocab=512, samples=1, dim=96, length=16), "samples", target=0.5).value
    1415
    """

    prediction: Prediction

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

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Solution:
        """The inverse of `to_dict`."""
        names = ("quantity", "target", "accuracy", "value", "reason")
        asked = {name: told[name] for name in names}
        return cls(**asked, prediction=Prediction.from_dict(told))

    def rows(self) -> list[dict[str, Any]]:
        """One row: the problem at the solved size, what was asked, and what was found."""
        low, high = self.range
        (row,) = self.prediction.rows()
        asked = {"quantity": self.quantity, "target": self.target, "accuracy": self.accuracy}
        found = {"value": self.value, "low": low, "high": high, "status": str(self.status)}
        return [row | asked | found | {"reason": self.reason}]

    def _words(self) -> str:
        reached = f"{self.accuracy.replace('_', ' ')} {self.target:g}"
        if self.value is None:
            return f"no {self.quantity} reaches {reached}: {self.reason}"
        low, high = ("none" if end is None else end for end in self.range)
        return (
            f"{self.quantity} = {self.value} reaches {reached}, from {low} to {high} by the "
            "recorded error"
        )

    def _drawing(self) -> Drawing:
        from recallscope.plotting.labels import LETTERS, accuracy_label, describe_common_fields

        middle = getattr(self.problem, self.quantity)
        low, high = _range(self.problem, self.quantity)
        sizes = np.geomspace(max(middle / 30, low), min(middle * 30, high), 200)
        predicted = getattr(accuracies_along(self.problem, self.quantity, sizes), self.accuracy)
        series = [
            Series(label="closed forms", kind=Kind.THEORY, x=sizes.tolist(), y=predicted.tolist()),
            Series(
                label=f"target {self.target:g}",
                kind=Kind.REFERENCE,
                x=[float(sizes[0]), float(sizes[-1])],
                y=[self.target] * 2,
            ),
        ]
        if self.value is not None:
            label = f"{self.quantity} = {self.value}"
            at = float(getattr(self.prediction, self.accuracy))
            series.append(Series(label=label, kind=Kind.MEASURED, x=[self.value], y=[at]))
        fields = self.problem.to_dict() | {self.quantity: None}
        panel = Panel(
            title="",
            x=f"{LETTERS[self.quantity]}, {self.quantity}",
            y=f"{accuracy_label(self.accuracy)} accuracy",
            series=series,
            log_x=True,
        )
        caption = f"{describe_common_fields([fields])}. Nothing fitted. {self._words()}."
        return picture_drawing(Picture(caption=caption, panels=[panel]))

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
    # The noise that costs most and that more (or less) of this size does nothing about.
    cost = costs(best.problem.vocab, best.noise[stage])
    noises = sorted(cost, key=cost.__getitem__, reverse=True)
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
