"""Many runs, one after another, with word of how far they have come."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recallscope import experiment
from recallscope.learning.cost import predict_cost
from recallscope.measurement.critical import CriticalSearch
from recallscope.problem import Problem
from recallscope.record import Record

Progress = Callable[[float, float], None]
"""Called with (work done, work in all)."""


def run_all(
    runs: Sequence[tuple[Problem, int]],
    progress: Progress,
    *,
    test_samples: int = 4096,
    dtype: str = "float32",
) -> list[Record]:
    """The records of problems at seeds; progress goes by what each run is predicted to cost."""
    for problem in dict.fromkeys(problem for problem, _ in runs):
        experiment.check(problem, test_samples=test_samples, dtype=dtype)
    costs = [predict_cost(problem, "auto", dtype, test_samples).seconds for problem, _ in runs]
    total, done, records = sum(costs), 0.0, []
    for (problem, seed), cost in zip(runs, costs, strict=True):
        records.append(experiment.run(problem, seed, test_samples=test_samples, dtype=dtype))
        done += cost
        progress(done, total)
    return records


def carry_out(
    searches: Sequence[CriticalSearch],
    progress: Progress,
    *,
    test_samples: int = 4096,
    dtype: str = "float32",
) -> None:
    """Run searches to their end, one after another; progress goes by runs, those to come guessed.

    >>> search = CriticalSearch(Problem(vocab=64, samples=1, dim=48, length=4), budget=8)
    >>> carry_out([search], lambda done, total: None)
    >>> search.done
    True
    """
    for search in searches:
        while not search.done:
            search.tell(
                experiment.run(problem, seed, test_samples=test_samples, dtype=dtype)
                for problem, seed in search.ask()
            )
            progress(
                sum(each.evaluations for each in searches),
                sum(each.expected_evaluations for each in searches),
            )
