"""A law turned round: what size reaches a target."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from recallscope.common.checks import LARGEST_SIZE, check_target
from recallscope.common.errors import ProblemError
from recallscope.common.formatting import format_duration
from recallscope.common.status import Status
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.plot.result import Drawing, Result
from recallscope.problem.axes import SIZES, axis_field
from recallscope.problem.field import Field
from recallscope.problem.metrics import check_accuracy
from recallscope.problem.problem import Problem, smallest_dim
from recallscope.theory.choosing import NoLawError, choose, law_named, predict_problems
from recallscope.theory.law import NOTHING_GIVEN, Given
from recallscope.theory.noise import OWN_STAGE, REMEDIES, costs
from recallscope.theory.prediction import Prediction

_AT_ONCE = 50  # sizes that the search for a solution tries at once, for laws that take no time
_HALVINGS = 4  # for these laws: a call of arrays costs about what a call of one problem costs
_INSTANT, _PATIENT = 0.01, 1.0  # seconds
_DRAWN = 1.03  # the factor between the points of a curve
_CLOSE = 1.001  # the factor between real numbers that count as the same
_LINEAR = 64.0  # the factor that has as many steps as a linear scale
_FINE = 1.1  # the factor between sizes at which laws are asked whether they apply


@dataclass(frozen=True, kw_only=True, repr=False)
class Solution(Result):
    """The size that reaches a target, or why no size does.

    The prediction is that of the solved size, or of the one that comes closest.

    >>> solve(Problem(vocab=512, samples=1, dim=96, length=16), "samples", target=0.5).value
    1415
    """

    quantity: str
    target: float
    accuracy: str
    value: float | None
    reason: str | None
    prediction: Prediction
    _in_json = ("quantity", "target", "accuracy", "value", "range", "reason", "status")

    @property
    def problem(self) -> Problem:
        """The problem that the prediction is of."""
        return self.prediction.problem

    @property
    def status(self) -> Status:
        """Whether there is such a size."""
        return Status.NOT_REACHED if self.value is None else Status.OK

    @cached_property
    def range(self) -> tuple[float | None, float | None]:
        """The sizes that reach the target if the prediction is off by its recorded error.

        From the smaller to the larger; None is beyond all sizes. The error is that within which
        90 % of the nearest experiments lie, or the mean one if that is larger.
        """
        error = self.prediction.recorded_error.get(self.accuracy)
        law = law_named(self.prediction.law)
        if self.value is None or error is None or law.seconds(self.problem) > _PATIENT:
            return None, None
        reach = max(error.mean, error.most)
        targets = [self.target - reach, self.target + reach]
        if not axis_field(self.quantity, self.problem.parts()).grows:
            targets.reverse()
        with suppress(NoLawError):  # a law that needs arrays has them no more
            return self._solved(targets[0]), self._solved(targets[1])
        return None, None

    def _solved(self, target: float) -> float | None:
        if not 0 < target < 1:
            return None
        question = self.quantity, target, self.accuracy
        return solve(self.problem, *question, law=self.prediction.law).value

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        prediction = {**data, "status": data["standing"]}
        if data["prediction"] is not None:
            prediction["reason"] = None
        return super().from_dict({**data, "prediction": prediction})

    def rows(self) -> list[dict[str, Any]]:
        """One row: the problem at the solved size, what was asked, and what was found."""
        low, high = self.range
        (row,) = self.prediction.rows()
        question = {"quantity": self.quantity, "target": self.target, "accuracy": self.accuracy}
        solution = {"value": self.value, "low": low, "high": high, "status": str(self.status)}
        return [row | question | solution | {"reason": self.reason}]

    def _words(self) -> str:
        reached = f"{self.accuracy.replace('_', ' ')} {self.target:g}"
        if self.value is None:
            return f"no {self.quantity} reaches {reached}: {self.reason}"
        sentence = f"{self.quantity} = {self.value} reaches {reached}"
        if self.range != (None, None):
            low, high = ("none" if end is None else end for end in self.range)
            sentence += f", from {low} to {high} by the recorded error"
        return f"{sentence}; {self.reason}" if self.reason else sentence

    def _drawing(self) -> Drawing:
        from recallscope.plot.labels import accuracy_label, axis_label, describe_common_fields

        law = law_named(self.prediction.law)
        if law.seconds(self.problem) > _INSTANT:
            return self.prediction._drawing()
        middle = getattr(self.problem, self.quantity)
        along = accuracies_along(self.problem, self.quantity, middle / 30, middle * 30)
        sizes = [size for size, _ in along]
        predicted = [accuracies[self.accuracy] for _, accuracies in along]
        series = [
            Series(law.about, Kind.THEORY, sizes, predicted),
            Series(
                f"target {self.target:g}",
                Kind.REFERENCE,
                [float(sizes[0]), float(sizes[-1])],
                [self.target] * 2,
            ),
        ]
        if self.value is not None:
            label = f"{self.quantity} = {self.value}"
            at = float(self.prediction.accuracies[self.accuracy])
            series.append(Series(label, Kind.MEASURED, [self.value], [at]))
        fields = self.problem.to_dict() | {self.quantity: None}
        panel = Panel(
            title="",
            x=axis_label(self.quantity),
            y=f"{accuracy_label(self.accuracy)} accuracy",
            series=series,
            log_x=True,
        )
        caption = f"{describe_common_fields([fields])}. {law.origin} {self._words()}."
        return Drawing("picture", Picture(caption=caption, panels=[panel]))

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON: the prediction, and what was asked and found."""
        standing = {"standing": str(self.prediction.status)}
        return self.prediction.to_dict() | standing | super().to_dict()


def accuracies_along(
    problem: Problem, quantity: str, low: float, high: float
) -> list[tuple[float, Mapping[str, float]]]:
    """Sizes from one to another with the accuracies there, of a law that takes no time.

    >>> base = Problem(vocab=512, samples=1, dim=64, length=32)
    >>> along = dict(accuracies_along(base, "samples", 512, 8192))
    >>> [round(along[samples]["recall_accuracy"], 2) for samples in (512, 8192)]
    [0.25, 0.32]
    """
    least, most = _range(problem, quantity)
    field = axis_field(quantity, problem.parts())
    if type(field.default) is int:
        low, high = round(low), round(high)
    sizes = ladder(max(low, least), min(high, most), _DRAWN, field)
    along = [resized(problem, quantity, size) for size in sizes]
    choice = choose(*along)
    if choice.name is None or choice.law.seconds(problem) > _INSTANT:
        return []
    law = choice.law
    answered = [sized for sized in along if law.applies(sized) is None]
    return [
        (getattr(sized, quantity), answer.accuracies)
        for sized, answer in zip(answered, law.predict(answered, NOTHING_GIVEN), strict=True)
        if answer.reason is None
    ]


def solve(
    problem: Problem,
    quantity: str,
    target: float = 0.5,
    accuracy: str = "recall_accuracy",
    *,
    given: Given = NOTHING_GIVEN,
    law: Any = None,
) -> Solution:
    """The smallest value of a field, or the largest if recall falls with it, that reaches a target.

    The problem's value of that size is not used. A target out of reach has status `not_reached` and
    a reason that names the bottleneck.

    >>> solution = solve(Problem(vocab=512, samples=1, dim=64, length=32), "samples", target=0.9)
    >>> solution.status, solution.value
    (<Status.NOT_REACHED: 'not_reached'>, None)
    """
    field = axis_field(quantity, problem.parts(), searched=True)
    check_accuracy(accuracy)
    check_target(target)
    check_has(problem, quantity)
    name, sizes = _law_along(problem, quantity, law)
    chosen, grows = law_named(name), field.grows
    # A law may take minutes at large sizes, so a slow one is asked from the small sizes on, one by
    # one; another from the side that does not reach the target, as the accuracy is only nearly
    # monotone, and the last crossing counts.
    slow = chosen.seconds(problem) > _INSTANT
    at_once, halvings = (1, 1) if slow else (_AT_ONCE, _HALVINGS)
    order = sizes if slow or grows else sizes[::-1]
    from_outside = grows or not slow
    looks = len(order) + math.log2(math.log(chosen.step) / math.log(max(chosen.close, 1.01)))
    known: dict[float, float] = {}
    reasons: list[str] = []

    def look_at(some: Sequence[float]) -> None:
        problems = [resized(problem, quantity, size) for size in some]
        answers = chosen.predict(problems, given._part(len(known), 1, looks))
        for size, answer in zip(some, answers, strict=True):
            if answer.reason is not None and not any(known.values()):
                reasons.append(answer.reason)
            # Sizes without a number do not reach the target.
            value = answer.accuracies.get(accuracy, math.nan)
            if answer.accuracies and accuracy not in answer.accuracies:
                raise ProblemError(f"the law {name} says nothing of the {accuracy}")
            known[size] = 0.0 if math.isnan(value) else value

    for start in range(0, len(order), at_once):
        part = order[start : start + at_once]
        look_at(part)
        if any((known[size] >= target) is from_outside for size in part):
            break
    value, outside = _bracket(known, target, grows)
    while value is not None and outside is not None:
        finer = _middles(field, value, outside, chosen.close, halvings)
        if not finer:
            break
        look_at(finer)
        value, outside = _bracket(known, target, grows)
    beyond = value is not None and outside is None and value not in _range(problem, quantity)
    if len(reasons) == len(known):
        raise NoLawError(reasons[0])
    most = max(known.values())
    closest = next(size for size, reached in known.items() if reached >= 0.999 * most)
    (prediction,) = predict_problems(
        [problem.replace(**{quantity: closest if value is None else value})],
        given._replace(details=True, progress=lambda done, total: None),
        law=name,
    )
    reason = None
    if value is None:
        reason = _why_not_reached(prediction, quantity, accuracy, (sizes[0], sizes[-1]))
    elif beyond:
        reason = f"no {'smaller' if grows else 'larger'} one was tried"
    return Solution(
        quantity=quantity,
        target=float(target),
        accuracy=accuracy,
        value=value,
        reason=reason,
        prediction=prediction,
    )


def no_solution(
    problem: Problem, quantity: str, accuracy: str, patience: float = math.inf
) -> str | None:
    """Why no law can be solved for a size of a problem within some seconds; None if one can.

    >>> problem = Problem(vocab=512, samples=1, dim=64, length=32, learner="sgd")
    >>> no_solution(problem, "samples", "recall_accuracy")
    'no closed form for the learner sgd'
    """
    try:
        name, sizes = _law_along(problem, quantity, None)
    except NoLawError as error:
        return str(error)
    (answer,) = law_named(name).predict([resized(problem, quantity, sizes[0])], NOTHING_GIVEN)
    if answer.reason is not None:
        return answer.reason
    if accuracy not in answer.accuracies:
        return f"no closed form for {accuracy}"
    seconds = sum(law_named(name).seconds(resized(problem, quantity, size)) for size in sizes)
    if seconds > patience:
        return f"the law {name} takes about {format_duration(seconds)}; ask solve"
    return None


def _bracket(
    known: Mapping[float, float], target: float, grows: bool
) -> tuple[float | None, float | None]:
    """Return the first size that reaches the target, and the nearest one that does not.

    First is the smallest if the accuracy grows with the size, else the largest.
    """
    reached = [size for size in known if known[size] >= target]
    if not reached:
        return None, None
    if grows:
        inside = min(reached)
        return inside, max((size for size in known if size < inside), default=None)
    inside = max(reached)
    return inside, min((size for size in known if size > inside), default=None)


def between(field: Field, one: float, other: float, close: float = 1.0) -> float | None:
    """The value half-way from one to another; None where the two count as the same."""
    if type(field.default) is int and close == 1:
        middle: float = (int(one) + int(other)) // 2
    else:
        places = field.place(one), field.place(other)
        if abs(places[0] - places[1]) <= math.log(max(close, _CLOSE)):
            return None
        middle = field.value_at(sum(places) / 2)
    return None if middle in (one, other) else middle


def _middles(field: Field, one: float, other: float, close: float, halvings: int) -> list[float]:
    """All sizes that so many halvings may come to, whichever halves they take."""
    middle = between(field, one, other, close) if halvings else None
    if middle is None:
        return []
    first = _middles(field, one, middle, close, halvings - 1)
    return [middle, *first, *_middles(field, middle, other, close, halvings - 1)]


def check_has(problem: Problem, name: str) -> None:
    """Raise if a problem does not have the field that is to be changed in it."""
    if getattr(problem, name) is None:
        raise ProblemError(f"attention alone has no {name}; give a problem with one, of any value")


def _law_along(problem: Problem, quantity: str, law: Any) -> tuple[str, list[float]]:
    """The law that applies at some value of a field, by its name, and the values to try."""
    low, high = _range(problem, quantity)
    field = axis_field(quantity, problem.parts())
    every = [resized(problem, quantity, size) for size in ladder(low, high, _FINE, field)]
    choice = choose(problem, *every, law=law)
    chosen = choice.law
    least, most = chosen.solved(problem, quantity)
    inside = [
        size
        for sized in every
        if least <= (size := getattr(sized, quantity)) <= most and chosen.applies(sized) is None
    ]
    ends = max(low, least), min(high, most)
    if type(field.default) is int:
        ends = math.ceil(ends[0]), math.floor(ends[1])
    inside += [end for end in ends if chosen.applies(resized(problem, quantity, end)) is None]
    if not inside:
        raise NoLawError(f"the law {choice.name} cannot be solved for {quantity}")
    return str(choice.name), ladder(min(inside), max(inside), chosen.step, field)


def ladder(low: float, high: float, step: float, field: Field = SIZES["samples"]) -> list[float]:
    """Values from one to another, each about so many times the one before; all of them once.

    Along a linear scale they are evenly spaced, as many as there would be in a factor of 64.

    >>> ladder(1, 20, 2.0)
    [1, 2, 4, 8, 16, 20]
    """
    if field.scale == "linear":
        count = math.ceil(math.log(_LINEAR) / math.log(step)) + 1
        values = np.linspace(low, high, count).tolist()
        return sorted({field.value_at(value) for value in values})
    if type(field.default) is float:
        count = math.ceil(math.log(high / low) / math.log(step)) + 1
        return sorted(
            {field.value_at(place) for place in np.linspace(math.log(low), math.log(high), count)}
        )
    sizes: list[float] = [int(low)]
    while sizes[-1] < high:
        sizes.append(int(min(max(round(sizes[-1] * step), sizes[-1] + 1), high)))
    return sizes


def resized(problem: Problem, quantity: str, size: float) -> Problem:
    """The problem with one size changed, not checked again: for many sizes, in a known range."""
    if quantity not in SIZES:
        return problem.replace(**{quantity: size})
    changed = object.__new__(Problem)
    changed.__dict__.update(vars(problem), **{quantity: size})
    return changed


def possible_range(problem: Problem, quantity: str) -> tuple[float, float]:
    """The least and the most that make a problem: not all embeddings exist in every dimension."""
    field = axis_field(quantity, problem.parts())
    low, high = 1 if field.low is None else field.low, min(field.most, LARGEST_SIZE)
    if quantity == "dim":
        low = smallest_dim(problem.embedding, problem.vocab)
    if quantity == "vocab" and not problem.embedding.startswith("arrays:"):
        least = problem.part("embedding").smallest_dim
        high = max(bisect_right(range(2, LARGEST_SIZE + 1), problem.dim, key=least) + 1, 2)
    return low, high


def _range(problem: Problem, quantity: str) -> tuple[float, float]:
    """The values to search."""
    if quantity in SIZES:
        return possible_range(problem, quantity)
    return usual_range(axis_field(quantity, problem.parts()))


def usual_range(field: Field) -> tuple[float, float]:
    """The values of a field that a search may try if nothing else is known of it.

    >>> usual_range(Field(default=1000, low=0, high=10**7))
    (15, 64000)
    """
    if field.required or field.nullable or field.scale == "linear":
        middle = float(field.default)
        low = middle if field.low is None else field.low
        return low, middle + _LINEAR if field.high is None else field.high
    middle = float(field.default) or 1.0
    low, high = middle / _LINEAR, min(middle * _LINEAR, field.most)
    low = max(low, field.low or 0.0)
    return (max(int(low), 1), int(high)) if type(field.default) is int else (low, high)


def _why_not_reached(
    best: Prediction, quantity: str, accuracy: str, looked_at: tuple[float, float]
) -> str:
    """Why even the best size does not reach the target."""
    if best.law is None:
        return str(best.reason)
    most, size, (low, high) = best.accuracies[accuracy], best.problem[quantity], looked_at
    if best.dominant is None:
        return f"it is {most:.3g} at {quantity} = {size}, and sizes from {low} to {high} were tried"
    stage = OWN_STAGE.get(accuracy, best.dominant[0])
    # The noise that costs most and that more (or less) of this size does nothing about.
    cost = costs(best.problem.vocab, dict(best.noise[stage]))
    noises = sorted(cost, key=cost.__getitem__, reverse=True)
    changes = f"raise {quantity}", f"lower {quantity}"
    term = next((n for n in noises if not {*changes} & {*REMEDIES[n]}), noises[0])
    far = f"at {quantity} = {size}" if size < LARGEST_SIZE else f"with any {quantity}"
    remedies = [remedy for remedy in REMEDIES[term] if remedy not in changes]
    if best.problem.width is None:
        remedies = [remedy for remedy in remedies if "width" not in remedy]
    return (
        f"{accuracy.replace('_', ' ')} is at most {most:.3g}, {far}: {term.replace('_', ' ')} of "
        f"the {stage.replace('_', '-')} stage is the bottleneck; {' or '.join(remedies)}"
    )
