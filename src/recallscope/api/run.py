"""One problem, run at one seed or at several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack, overload

from recallscope.api.run_options import DEFAULTS, RunOptions, runner, with_run_options
from recallscope.common.progress_bar import shown_progress
from recallscope.experiment.run import run_together
from recallscope.measurement.run_result import RunResult
from recallscope.parts.naming import find_part
from recallscope.problem import LARGEST_SEED, Problem, ProblemError, whole_number
from recallscope.record import Record

_OF_ONE = ("engine", "test_samples", "dtype", "device", "embeddings")
_OF_MANY = ("executor", "workers", "address", "store", "run", "name", "version")


@overload
def run(problem: Problem, seed: int = 0, **how: Unpack[RunOptions]) -> Record: ...


@overload
def run(problem: Problem, seed: int = 0, *, seeds: int, **how: Unpack[RunOptions]) -> RunResult: ...


@with_run_options
def run(
    problem: Problem, seed: int = 0, *, seeds: int | None = None, **how: Unpack[RunOptions]
) -> Record | RunResult:
    """Run one experiment: its record at one seed, or those of several with their means.

    A record is a pure function of the problem and the seed. On a CPU it is the same to the bit for
    the same engine, dtype and number of tests. A run beyond the memory of this machine comes back
    as `infeasible`, a run with an error as `failed`, each with its reason. An invalid request
    raises `ProblemError`.

    Args:
        problem: what to learn, by what, from how much.
        seed: which instance; the same seed gives the same samples at every batch size.
        seeds: how many, counted from `seed`. Without it one record is returned.
        how: how and where to run, as in `HowToRun`.

    Returns:
        A record; with `seeds` a collection of records with their means and intervals.

    Raises:
        ProblemError: an invalid seed or setting, or a setting that needs several runs.

    >>> record = run(Problem(vocab=256, samples=1024, dim=128, length=8), seed=1)
    >>> record.status, record.lock_accuracy > 0.99, 0.7 < record.recall_accuracy < 0.95
    (<Status.OK: 'ok'>, True, True)
    >>> found = run(Problem(vocab=64, samples=512, dim=64, length=4), seeds=4)
    >>> len(found), found.summary["recall_accuracy"].low < found.summary["recall_accuracy"].mean
    (4, True)
    """
    if seeds is None:
        if several := _of_many(how):
            raise ProblemError(f"{several[0]} is for several runs; give seeds= too")
        return _one_by_one(problem, [seed], how)[0]
    count = whole_number("seeds", seeds, 1, 10**6)
    first = whole_number("seed", seed, 0, LARGEST_SEED - count + 1)
    numbers = range(first, first + count)
    if _of_many(how):
        records = runner(how).records([(problem, number) for number in numbers], f"{count} seeds")
    else:
        records = _one_by_one(problem, numbers, how)
    return RunResult(problem=problem, records=records)


def _of_many(given: RunOptions) -> list[str]:
    """The given arguments that only matter for several runs."""
    return [name for name in _OF_MANY if given.get(name, DEFAULTS[name]) != DEFAULTS[name]]


def _one_by_one(problem: Problem, numbers: Sequence[int], given: RunOptions) -> list[Record]:
    """Run in this process and show progress within each run, which may have a billion samples."""
    how = runner(given).how
    records: list[Record] = []
    with shown_progress(how["progress"], "run") as show:

        def update(done: float, total: float) -> None:
            if len(numbers) == 1:  # show the counts of the run itself
                show(done, total)
            else:
                show(len(records) + len(together) * done / total, len(numbers))

        most = find_part("learner", problem.learner).at_once(problem)
        for first in range(0, len(numbers), most):
            together = numbers[first : first + most]
            made = run_together(
                problem, together, progress=update, **{name: how[name] for name in _OF_ONE}
            )
            for record in made if how["callback"] is not None else ():
                how["callback"](record)
            records += made
    return records
