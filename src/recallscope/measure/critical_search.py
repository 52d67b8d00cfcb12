"""The critical size: the smallest N (d, m) or the largest V (L) at which an accuracy is reached.

A search asks for runs and is given their records. It works the same in a notebook, in a loop or
among a thousand others on a cluster:

    while not search.done:
        search.tell([run(problem, seed) for problem, seed in search.ask()])
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from recallscope.common.checks import LARGEST_SEED, LARGEST_SIZE, check_target, shown, whole_number
from recallscope.common.errors import ProblemError
from recallscope.common.status import Status
from recallscope.experiment.record import Record, reported
from recallscope.measure.critical_size import CriticalSize, without_size
from recallscope.problem.axes import SIZES, axis_field, axis_value
from recallscope.problem.metrics import check_accuracy, metric_names
from recallscope.problem.problem import Problem
from recallscope.statistics.intervals import mean_interval
from recallscope.statistics.threshold import Crossing, Runs, locate
from recallscope.theory import required_size
from recallscope.training.ended import how_many_ended

_FEWEST_RUNS = 8  # before a search may end
_STEP = 0.02  # of log size: runs that are closer get the same size, for a cheap posterior
_SIDE = 0.8  # logits from the crossing at which the slope is learnt
_SPREADS = 3.0  # standard errors of the crossing: no further, as no curve is a straight line
_SURE = 0.99
_LOWER, _UPPER = 0.025, 0.975  # of the interval
_AROUND, _FAR, _MOSTLY = 16, 0.25, 0.75
"""Runs near a crossing are all-or-nothing if most of them are so far from the target."""
_IN_RESULT = (
    *("quantity", "target", "accuracy", "evaluations"),
    *("theory", "without_theory", "seeds_passing"),
)
_PATIENCE = 60.0  # seconds that a law may take for where to begin


class CriticalSearch:
    """Asks for runs, is given records, and estimates where the accuracy crosses the target.

    Each run has another seed, so all are independent; seeds count up from `first_seed`. A run that
    failed is counted and is no evidence. The search ends when high/low is at most `1 + precision`
    or `budget` runs were given. It also ends when the target is almost surely not reached within
    the range.

    Args:
        problem: everything but the size sought; its value in the problem is not used.
        quantity: samples, dim, width, vocab or length, or a field with which recall rises or falls.
        target: the accuracy to cross.
        accuracy: recall_accuracy, attention_accuracy or first_gradient_accuracy.
        low: the smallest size to try; by default far below where the target could be reached.
        high: the largest.
        precision: the width of the interval that is good enough, as a fraction of the size.
        budget: the most runs.
        batch: how many runs to ask for at once.
        first_seed: the seed of the first run.
        prior: a size to try first; "theory" for that of the closed forms, None for none.
        own: a custom experiment to run. No closed form is about it, and the accuracy may be any
            metric that it gives.
        seeds_passing: instead of the mean, the fraction of seeds that is to reach the target.

    >>> from recallscope import run
    >>> search = CriticalSearch(Problem(vocab=64, samples=1, dim=48, length=4), budget=24)
    >>> while not search.done:
    ...     search.tell([run(problem, seed) for problem, seed in search.ask()])
    >>> size = search.result()
    >>> str(size.status), size.low < size.value < size.high, size.evaluations
    ('ok', True, 24)
    """

    def __init__(
        self,
        problem: Problem,
        quantity: str = "samples",
        target: float = 0.5,
        accuracy: str = "recall_accuracy",
        *,
        low: float | None = None,
        high: float | None = None,
        precision: float = 0.1,
        budget: int = 64,
        batch: int = 4,
        first_seed: int = 0,
        prior: float | str | None = "theory",
        own: str | None = None,
        seeds_passing: float | None = None,
    ) -> None:
        self._field = axis_field(quantity, problem.parts(), searched=True)
        check_accuracy(accuracy, None if own else metric_names(problem))
        check_target(target)
        if seeds_passing is not None:
            check_target(seeds_passing, "the fraction of seeds that pass")
        self.seeds_passing = seeds_passing
        if not isinstance(precision, (int, float, Real)) or not 0 < precision < 1e300:
            raise ProblemError(f"the precision is a fraction above 0, not {shown(precision)}")
        required_size.check_has(problem, quantity)
        self.quantity, self.target, self.accuracy = quantity, target, accuracy
        self._problem = problem
        smallest, largest = search_range(problem, quantity)
        self.low = self._checked("low", smallest if low is None else low)
        self.high = self._checked("high", largest if high is None else high)
        if self.low >= self.high:
            raise ProblemError(f"the range must rise, not go from {self.low} to {self.high}")
        self.problem = problem.replace(**{quantity: self.low})
        self.precision = precision
        self.budget = whole_number("budget", budget, 1)
        self.batch = whole_number("batch", batch, 1)
        self.first_seed = self._next_seed = whole_number(
            "first_seed", first_seed, 0, LARGEST_SEED - self.budget
        )
        self._own = own
        self._chosen_prior = prior if prior == "theory" else self._log_prior(prior)
        self._x: list[float] = []
        self._rate: list[float] = []
        self._tests: list[float] = []
        self._ends: list[float] = []  # of trainings, how each ended
        self._failed: dict[tuple[float, int], Record] = {}
        self._seen: set[tuple[float, int]] = set()

    def _checked(self, name: str, value: Any) -> float:
        """An end of the range, as a value that makes a problem."""
        if self.quantity not in SIZES:
            end = float(axis_value(f"{name} of {self.quantity}", value, self._field))
            if end <= 0 and self._field.scale == "log":
                raise ProblemError(
                    f"{name} of {self.quantity} must be above 0, as its logarithm is searched, "
                    f"not {shown(value)}"
                )
            return end
        least, most = required_size.possible_range(self._problem, self.quantity)
        least, most = (least, LARGEST_SIZE) if name == "low" else (1, most)
        return whole_number(name, value, int(least), int(most))

    @cached_property
    def without_theory(self) -> str | None:
        """Why no law says where the crossing is; None if one does."""
        if self._own:
            return f"no closed form for {self._own}"
        return required_size.no_solution(self.problem, self.quantity, self.accuracy, _PATIENCE)

    @cached_property
    def _prior(self) -> float | None:
        """Where the crossing may be on the axis: inf if closed forms give none, None if unknown."""
        # Only once it is needed: closed forms take a while, and a plan may have many searches.
        if not isinstance(self._chosen_prior, str):
            return self._chosen_prior
        if self.without_theory:
            return None
        return math.inf if self.theory is None else self._place(self.theory)

    @property
    def evaluations(self) -> int:
        """How many runs were given, failed ones included."""
        return len(self._x) + len(self._failed)

    @cached_property
    def crossing(self) -> Crossing:
        """The posterior of log size; of −log size where more of the size hurts."""
        ends = sorted(self._place(size) for size in (self.low, self._largest_known))
        rate, tests, target = np.array(self._rate), np.array(self._tests), self.target
        if self.seeds_passing is not None:  # each run is one test, passed or not
            rate, tests = (rate >= target).astype(float), np.ones(len(rate))
            target = self.seeds_passing
        return locate(Runs(np.array(self._x), rate, tests), target, ends[0], ends[1], self._prior)

    def evidence(self) -> list[Any]:
        """All that the crossing follows from: the given runs, the target, the range, the prior."""
        ends = [self.low, self._largest_known, self.quantity]
        targets = [self.target, *([self.seeds_passing] if self.seeds_passing else [])]
        return [self._x, self._rate, self._tests, *targets, *ends, self._prior]

    @property
    def done(self) -> bool:
        """Whether the search has what it was asked for, or can go no further."""
        if self.evaluations >= self.budget:
            return True
        if self.evaluations < _FEWEST_RUNS:
            return False
        if self._count(Status.FAILED) > len(self._x) or not self._x:
            return True
        crossing = self.crossing
        sure = max(crossing.before, crossing.beyond) > _SURE
        return sure or crossing.width <= self._narrow

    @property
    def status(self) -> Status:
        """Whether the crossing lies in the range; failed or infeasible if most runs are."""
        if self._failed and (self._count(Status.FAILED) > len(self._x) or not self._x):
            return next(reversed(self._failed.values())).status
        if None in self._interval:
            return Status.NOT_REACHED  # it may be anywhere beyond
        return self.crossing.status

    @property
    def expected_evaluations(self) -> float:
        """How many runs the search will have taken, if intervals narrow as the root of runs."""
        if self.done:
            return self.evaluations
        still = self.crossing.width / self._narrow
        runs = max(self.evaluations, _FEWEST_RUNS) * still**2
        return float(min(max(runs, self.evaluations + 1, _FEWEST_RUNS), self.budget))

    def _count(self, status: Status) -> int:
        return sum(record.status is status for record in self._failed.values())

    @property
    def _largest_known(self) -> float:
        """The end of the range, or the largest size that was run if larger ones are infeasible."""
        if not self._count(Status.INFEASIBLE):
            return self.high
        next_to_low = self._field.value_at(self._field.place(self.low + 1))
        return max([next_to_low, *(self._value(x) for x in self._x)])

    @property
    def _largest_to_try(self) -> float:
        """Half-way, in the logarithm, from what was run to what did not fit into this machine."""
        infeasible = [
            size for (size, _), record in self._failed.items() if record.status is Status.INFEASIBLE
        ]
        if not infeasible:
            return self.high
        ends = self._field.place(self._largest_known), self._field.place(min(infeasible))
        return max(self._field.value_at(sum(ends) / 2), self.low)

    def ask(self, count: int | None = None) -> list[tuple[Problem, int]]:
        """Problems and seeds to run next: where the crossing may be, and a little to its sides.

        Args:
            count: how many; as many as `batch` if None.

        Returns:
            None left when the search is done.
        """
        count = min(count or self.batch, max(self.budget - self.evaluations, 1))
        low, high = sorted(self._place(size) for size in (self.low, self._largest_to_try))
        crossing = self.crossing
        side = min(_SIDE / crossing.slope, _SPREADS * crossing.sd, (high - low) / 8)
        runs = []
        for number in range(count):
            x = crossing.quantile((number + 0.5) / count)
            x += side * (-1) ** (self._next_seed + number) if len(self._x) >= _FEWEST_RUNS else 0
            x = min(max(x, low), high)
            size = self._value(self._step * round(x / self._step))
            size = min(max(size, self.low), self._largest_to_try)
            runs.append((self.problem.replace(**{self.quantity: size}), self._next_seed + number))
        self._next_seed += count
        return runs

    def tell(self, results: Iterable[Record | tuple[Problem, int, float, int]]) -> None:
        """Learn from runs of this problem, asked for or not; of each run once.

        A result is a record, or a problem, a seed, the accuracy and the number of its tests.

        Args:
            results: records, or tuples of a problem, a seed, its accuracy and its number of tests.

        Raises:
            ProblemError: a run of another problem.

        >>> search = CriticalSearch(Problem(vocab=64, samples=1, dim=48, length=4))
        >>> search.tell([(problem, seed, 0.25, 1000) for problem, seed in search.ask()])
        >>> search.evaluations
        4
        """
        fixed = all_but(self.quantity, self.problem)
        for result in results:
            record = result if isinstance(result, Record) else reported(*_four(result))
            size = getattr(record.problem, self.quantity)
            if all_but(self.quantity, record.problem) != fixed or not math.isfinite(size):
                expected = self.problem.replace(**{self.quantity: size})
                raise ProblemError(
                    f"the record is of another problem: expected {expected}, got {record.problem}"
                )
            run = (size, record.seed)
            if run in self._seen:
                continue  # the same run again is no further evidence
            if record.status is not Status.OK:
                self._failed.setdefault(run, record)
                continue
            rate, tests = record.accuracy(
                "recall_accuracy" if result is not record else self.accuracy
            )
            self._seen.add(run)
            self._failed.pop(run, None)  # a run that failed at first, and was run again
            self._x.append(self._place(size))
            self._rate.append(rate)
            self._tests.append(float(tests))
            if "ended" in record.metrics:
                self._ends.append(record.metric("ended"))
        self.__dict__.pop("crossing", None)  # to be worked out again when it is asked for

    def result(self) -> CriticalSize:
        """Return what is known so far."""
        crossing, status = self.crossing, self.status
        reason = self._out_of_range() if status is Status.NOT_REACHED else None
        if status in (Status.FAILED, Status.INFEASIBLE):
            reason = next(reversed(self._failed.values())).reason
        known = bool(self._x) and status in (Status.OK, Status.NOT_REACHED)
        # From the end that is small to the end that is large, whatever the direction.
        low, high = (
            self._value(x) if known and x is not None else None
            for x in self._interval[:: self._sign]
        )
        reached = status is Status.OK and bool(self._x)
        options: dict[str, Any] = {name: getattr(self, name) for name in _IN_RESULT}
        return CriticalSize(
            **options,
            problem=without_size(self.problem, self.quantity),
            status=status,
            value=self._value(crossing.quantile(0.5)) if reached else None,
            low=low,
            high=high,
            log_mean=self._sign * crossing.mean if reached else None,
            log_sd=crossing.sd if reached else None,
            failures=self._count(Status.FAILED),
            infeasible=self._count(Status.INFEASIBLE),
            curve=self._curve(),
            reason=reason,
            ended=how_many_ended(self._ends) if self._ends else None,
            own=self._own,
            all_or_nothing=self._all_or_nothing(),
        )

    @property
    def _interval(self) -> tuple[float | None, float | None]:
        """Where 95 % of the posterior lie on the axis; None for an end outside of the range.

        Beyond the range the curve is a guess: what is known is that the crossing is not inside.
        Where the range ends because there is no size beyond, its end is the end of the interval.
        """
        crossing = self.crossing
        start, end = crossing.range
        first, last = min(crossing.quantile(_LOWER), end), max(crossing.quantile(_UPPER), start)
        inside = crossing.status is Status.OK
        extremes = required_size.possible_range(self.problem, self.quantity) if inside else ()
        if self._value(start) in extremes:
            first = max(first, start)
        if self._value(end) in extremes:
            last = min(last, end)
        return first if first >= start else None, last if last <= end else None

    def _all_or_nothing(self) -> str | None:
        """How many of the runs around the crossing pass, where hardly any is near the target."""
        if not self._x:
            return None
        nearest = np.argsort(np.abs(np.array(self._x) - self.crossing.mean))[:_AROUND]
        rate = np.array(self._rate)[nearest]
        far, passed = np.abs(rate - self.target) > _FAR, rate >= self.target
        if len(rate) < _FEWEST_RUNS or far.mean() < _MOSTLY or passed.all() or not passed.any():
            return None
        return f"{passed.sum()} of the {len(rate)} runs nearest to it reach {self.target:g}"

    @property
    def _sign(self) -> int:
        """Sizes that hurt are searched by the logarithm of their inverse."""
        return 1 if self._field.grows else -1

    def _place(self, size: float) -> float:
        """Where a size lies on the axis along which accuracy rises."""
        return self._sign * self._field.place(size)

    def _value(self, place: float) -> float:
        """The size at a place of that axis."""
        return self._field.value_at(self._sign * place)

    @property
    def _step(self) -> float:
        """Runs that are closer on the axis get the same size."""
        linear = self._field.scale == "linear"
        return _STEP * (self.high - self.low) / math.log(64) if linear else _STEP

    @property
    def _narrow(self) -> float:
        """The width of an interval on the axis that is good enough."""
        linear = self._field.scale == "linear"
        return self.precision * (self.high - self.low) if linear else math.log1p(self.precision)

    @property
    def theory(self) -> float | None:
        """The size that the closed forms give, if there are any and one reaches the target."""
        return None if self._solution is None else self._solution.value

    @cached_property
    def _solution(self) -> required_size.Solution | None:
        if self.without_theory:
            return None
        return required_size.solve(self.problem, self.quantity, self.target, self.accuracy)

    def _log_prior(self, prior: float | str | None) -> float | None:
        if prior is None:
            return None
        if not isinstance(prior, (int, float)) or not prior > 0:
            raise ProblemError(f"the prior is a size, 'theory' or None, not {prior!r}")
        return self._place(prior)

    def _out_of_range(self) -> str:
        if self.crossing.beyond >= self.crossing.before:
            outcome, hardest = "not reached", self._sign > 0
        else:
            outcome, hardest = "reached already", self._sign < 0
        end, change = (self._largest_known, "raise high") if hardest else (self.low, "lower low")
        text = f"the target is {outcome} at {self.quantity} = {end}"
        if max(self.crossing.beyond, self.crossing.before) <= 0.5:
            missing = "upper" if hardest else "lower"
            return (
                f"no {missing} end was found in {self.evaluations} runs: the target may be "
                f"crossed beyond {self.quantity} = {end}; {change}, or raise the budget"
            )
        if self._count(Status.INFEASIBLE):
            return f"{text}; larger sizes are infeasible here"
        if end in required_size.possible_range(self.problem, self.quantity):
            return f"{text}, and there is none beyond"
        if outcome == "not reached" and self._solution and self._solution.reason:
            return f"{text}; closed forms predict that no size reaches it: {self._solution.reason}"
        return f"{text}; {change}"

    def _curve(self) -> list[dict[str, Any]]:
        """The points measured: size, runs, and the mean of the accuracy with its interval."""
        x, rate, tests = np.array(self._x), np.array(self._rate), np.array(self._tests)
        points = []
        for at in sorted(set(self._x), key=lambda x: self._sign * x):
            here = x == at
            mean, low, high = mean_interval(rate[here].tolist(), tests[here].astype(int).tolist())
            counts = {"runs": int(here.sum()), "tests": int(tests[here].sum())}
            ends = {"accuracy": mean, "low": low, "high": high}
            points.append({"size": self._value(at)} | counts | ends)
        return points


def search_range(problem: Problem, quantity: str) -> tuple[float, float]:
    """The range to search if none is given: wide, but bounded, as no run may take for ever."""
    if quantity not in SIZES:
        return required_size.usual_range(axis_field(quantity, problem.parts()))
    vocab = problem.vocab
    low, high = {
        "samples": (2, 256 * vocab),
        "dim": (4, 8 * vocab),
        "width": (8, 64 * vocab),
        "vocab": (2, 1 << 14),
        "length": (2, 1 << 12),
    }[quantity]
    smallest, largest = required_size.possible_range(problem, quantity)
    return max(low, smallest), min(high, largest)


def all_but(quantity: str, problem: Problem) -> dict[str, Any]:
    """All fields of a problem but one."""
    declared = tuple(
        name_and_value for name_and_value in problem.declared if name_and_value[0] != quantity
    )
    fields = {name: value for name, value in vars(problem).items() if name != quantity}
    return fields | {"declared": declared}


def _four(result: Any) -> tuple[Problem, int, Any, Any]:
    try:
        problem, seed, accuracy, tests = result
    except (TypeError, ValueError):
        raise ProblemError(
            "tell takes a record, or (problem, seed, accuracy, tests), "
            f"not {result!r:.60}; without the number of tests an accuracy means nothing"
        ) from None
    return problem, seed, accuracy, tests
