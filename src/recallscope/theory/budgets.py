"""A budget: the sizes within it that have the highest accuracy by closed forms."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from recallscope.common.checks import LARGEST_SIZE, shown
from recallscope.common.csv_files import number_or_text
from recallscope.common.errors import ProblemError
from recallscope.plot.labels import describe_common_fields
from recallscope.plot.result import Drawing, Result
from recallscope.problem.metrics import check_accuracy
from recallscope.problem.problem import Problem, smallest_dim
from recallscope.theory.choosing import choose, law_named, predict_problems
from recallscope.theory.law import NOTHING_GIVEN, Given, Law
from recallscope.theory.phase_map import phase_map
from recallscope.theory.prediction import Prediction
from recallscope.theory.required_size import resized

BudgetLike = str | tuple[str, float]
"""'parameters=1e6', or ('parameters', 1e6)."""
FREE = {
    "parameters": ("dim", "width"),
    "tokens": ("samples",),
    "compute": ("dim", "width", "samples"),
}
"""The sizes that each budget is spent on."""
COUNTED = (
    "Parameters, trained and frozen: 2(V+1)d + 2d² for attention alone, 2(V+1)d + d² + "
    "2md with an MLP. Tokens: samples × length. Compute: parameters × tokens."
)
_ROUNDS, _POINTS = 6, 600  # grids that close in on the best sizes, and the points of each
_LEAST_SHARE = 1 / 1024  # of what the other sizes leave for the last one; less is not tried
_ALIKE = 9  # digits: of sizes with the same accuracy, those that cost least are taken
_LEVELS = [0.01, *(tenths / 10 for tenths in range(1, 10)), 0.99]  # of a figure's lines
_PLANE, _REACH = 40, 8.0  # sizes along an axis of a figure, and how far they go from the best


@dataclass(frozen=True, kw_only=True, repr=False)
class Allocation(Result):
    """The sizes within a budget that have the highest accuracy, with their prediction.

    Attributes:
        budget: parameters, tokens or compute.
        limit: the most that may be spent.
        accuracy: the one that is highest.
        predictions: of the best sizes, and of the best with an MLP if these have none, or without.

    >>> solve_within(Problem(vocab=512, samples=8192, dim=1, length=16), "parameters=1e5")
    dim = 83, attention alone: recall accuracy 0.5509, the highest within 100000 parameters
    """

    budget: str
    limit: int
    accuracy: str
    predictions: list[Prediction]
    _in_json = ("budget", "limit", "spent", "sizes", "accuracy", "predictions")

    @property
    def problem(self) -> Problem:
        """The problem with the best sizes."""
        return self.predictions[0].problem

    @property
    def spent(self) -> int:
        """The cost of these sizes."""
        return cost(self.budget, self.problem)

    @property
    def sizes(self) -> dict[str, int | None]:
        """The sizes that the budget is spent on, as they are best."""
        return {name: self.problem[name] for name in FREE[self.budget]}

    def rows(self) -> list[dict[str, Any]]:
        """The best sizes, and the best of the other kind if there is one."""
        wanted = {"budget": self.budget, "limit": self.limit}
        return [
            wanted | {"spent": cost(self.budget, prediction.problem)} | prediction.rows()[0]
            for prediction in self.predictions
        ]

    def _label(self, best: Prediction) -> str:
        problem, free = best.problem, FREE[self.budget]
        sizes = [f"{name} = {problem[name]}" for name in free if problem[name] is not None]
        if "width" in free:
            sizes.append(f"{problem.activation} MLP" if problem.width else "attention alone")
        name, value = self.accuracy.replace("_", " "), best.accuracies[self.accuracy]
        return f"{', '.join(sizes)}: {name} {value:.4f}"

    def _words(self) -> str:
        best = self._label(self.predictions[0])
        return f"{best}, the highest within {self.limit} {self.budget}"

    def _drawing(self) -> Drawing:
        return Drawing("phase_map", self.figure_data())

    def figure_data(self) -> dict[str, Any]:
        """Return what `phase_map_figure` draws: a plane, the budget's line, and the best sizes."""
        x, *_, y = *FREE[self.budget], *(["length"] if self.budget == "tokens" else [])
        there = self.predictions if y == "width" else self.predictions[:1]
        base = next(best.problem for best in there if best.problem[y] is not None)
        law = law_named(self.predictions[0].law)
        lows = (max(base[name] / _REACH, _least(base, name, law)) for name in (x, y))
        xs, ys = map(_whole, lows, (base[x] * _REACH, base[y] * _REACH), (_PLANE, _PLANE))
        plane = phase_map(base, (x, xs), (y, ys), self.accuracy).figure_data()
        fixed = describe_common_fields([base.to_dict() | dict.fromkeys((x, y))])
        return plane | {
            "origin": f"{plane['origin']} {fixed}. {COUNTED}",
            "levels": _LEVELS,
            "budget": f"{self.budget} = {self.limit:g}",
            "line": [[at, _most(self.budget, self.limit, resized(base, x, at), y)] for at in xs],
            "marks": [
                {"x": best.problem[x], "y": best.problem[y], "label": self._label(best)}
                for best in there
            ],
        }


def cost(budget: str, problem: Problem) -> int:
    """Return what a problem takes of a budget.

    >>> cost("parameters", Problem(vocab=512, samples=8192, dim=64, length=32))
    73856
    """
    d, m = problem.dim, problem.width
    parameters = 2 * (problem.vocab + 1) * d + d * d + (d * d if m is None else 2 * m * d)
    if budget == "parameters":
        return parameters
    tokens = int(problem.samples) * problem.length
    return tokens if budget == "tokens" else parameters * tokens


def budget_from(within: BudgetLike) -> tuple[str, int]:
    """A budget's name and its limit, however they were given.

    >>> budget_from("parameters=50k"), budget_from(("tokens", 1e6))
    (('parameters', 50000), ('tokens', 1000000))
    """
    name, limit = within if isinstance(within, tuple) and len(within) == 2 else (within, None)
    if isinstance(within, str):
        name, _, text = within.partition("=")
        limit = number_or_text(text)
    known = isinstance(name, str) and name in FREE
    if not known or not isinstance(limit, Real) or not 1 <= limit < math.inf:
        raise ProblemError(
            f"a budget is one of {', '.join(FREE)} and a number, as in parameters=1e6, not "
            f"{shown(within)}"
        )
    return str(name), int(limit)


def solve_within(
    problem: Problem,
    within: BudgetLike,
    accuracy: str = "recall_accuracy",
    *,
    given: Given = NOTHING_GIVEN,
    law: Any = None,
) -> Allocation:
    """The sizes within a budget with the highest accuracy; those of the problem are not used.

    If the width is free, so is whether there is an MLP. Dimensions that are smaller than a law was
    tested at are not tried: it predicts more than runs show.

    >>> problem = Problem(vocab=512, samples=1, dim=1, length=16)
    >>> solve_within(problem, "compute=1e10").sizes
    {'dim': 205, 'width': None, 'samples': 2123}
    """
    budget, limit = budget_from(within)
    check_accuracy(accuracy)
    kinds = [problem]
    if "width" in FREE[budget]:
        with_mlp = {"width": 1, "activation": problem.activation or "relu"}
        kinds = [problem.replace(width=None), problem.replace(**with_mlp)]
    chosen = choose(*kinds, law=law)
    if chosen.law.seconds(problem) > 0:
        raise ProblemError(f"a budget is for closed forms; the law {chosen.name} takes too long")
    turns = itertools.count(1)

    def ask(problems: Sequence[Problem]) -> list[float]:
        answers = chosen.law.predict(problems, NOTHING_GIVEN)
        given.progress(next(turns), _ROUNDS * len(kinds))
        return [round(answer.accuracies.get(accuracy, 0.0), _ALIKE) for answer in answers]

    small = [_smallest(kind, budget, chosen.law) for kind in kinds]
    if limit < (needed := min(cost(budget, kind) for kind in small)):
        raise ProblemError(
            f"{limit} {budget} are too few: the smallest sizes that the law {chosen.name} was "
            f"tested at need {needed}"
        )
    ranked = [_closest(kind, budget, limit, ask) for kind in small if cost(budget, kind) <= limit]
    best = [tried.replace() for *_, tried in sorted(ranked, key=lambda rank: rank[:2])]
    predictions = predict_problems(best, Given(details=True), law=chosen.name)
    return Allocation(budget=budget, limit=limit, accuracy=accuracy, predictions=predictions)


def _closest(
    least: Problem, budget: str, limit: int, ask: Callable[[Sequence[Problem]], list[float]]
) -> tuple[float, int, Problem]:
    """The best of grids that close in on the best sizes, from the smallest on: what ranks it, too.

    The last size takes a fraction of what the others leave: all of it meets the limit itself.
    """
    *outer, last = (name for name in FREE[budget] if least[name] is not None)
    count = round(_POINTS ** (1 / (len(outer) + 1)))
    grids = [_whole(least[name], _most(budget, limit, least, name), count) for name in outer]
    shares = np.geomspace(_LEAST_SHARE, 1.0, count).tolist()
    for _ in range(_ROUNDS):
        tried = {}
        for at in itertools.product(*grids):
            others = _resized(least, dict(zip(outer, at, strict=True)))
            top = _most(budget, limit, others, last)
            for share in shares if top >= least[last] else ():
                size = min(max(int(top * share), least[last]), top)
                tried[*at, size] = resized(others, last, size), (*at, share)
        some, places = zip(*tried.values(), strict=True)
        ranks = [
            (-value, cost(budget, candidate))
            for value, candidate in zip(ask(some), some, strict=True)
        ]
        best = ranks.index(min(ranks))
        *ends, around = map(_neighbours, (*grids, shares), places[best])
        grids = [_whole(*end, count) for end in ends]
        shares = np.geomspace(*around, count).tolist()
    return *ranks[best], some[best]


def _neighbours(grid: Sequence[Any], value: Any) -> tuple[Any, Any]:
    """The neighbours of a value in a grid; at an end, itself for the one that is missing."""
    place = grid.index(value)
    return grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)]


def _most(budget: str, limit: int, problem: Problem, name: str) -> int:
    """The largest value of one size within a budget, the others given; 0 if no value fits."""

    def spent(size: int) -> int:
        return cost(budget, resized(problem, name, size))

    return bisect_right(range(1, LARGEST_SIZE + 1), limit, key=spent)


def _whole(low: float, high: float, count: int) -> list[int]:
    """Whole numbers from one to another, at about equal ratios."""
    return sorted({*np.geomspace(low, high, count).round().astype(int).tolist()})


def _resized(problem: Problem, sizes: Mapping[str, int]) -> Problem:
    for name, size in sizes.items():
        problem = resized(problem, name, size)
    return problem


def _least(problem: Problem, name: str, law: Law) -> int:
    """The smallest value of a size that is tried."""
    tested = math.ceil(law.tested.get(name, (1, 1))[0])
    return max(tested, smallest_dim(problem.embedding, problem.vocab)) if name == "dim" else 1


def _smallest(problem: Problem, budget: str, law: Law) -> Problem:
    free = [name for name in FREE[budget] if problem[name] is not None]
    return _resized(problem, {name: _least(problem, name, law) for name in free})
