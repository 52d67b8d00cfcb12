"""One problem, run at one seed or at several."""

from __future__ import annotations

from typing import Any, Unpack, overload

from recallscope.api.how_to_run import DEFAULTS, HowToRun, runner, takes_how_to_run
from recallscope.common.progress_bar import shown_progress
from recallscope.experiment.run import run as run_once
from recallscope.measurement.run_result import RunResult
from recallscope.problem import LARGEST_SEED, Problem, ProblemError, whole_number
from recallscope.record import Record

_OF_ONE = ("engine", "test_samples", "dtype", "device", "embeddings")
_OF_MANY = ("executor", "workers", "address", "store", "run", "name", "version")


@overload
def run(problem: Problem, seed: int = 0, **how: Unpack[HowToRun]) -> Record: ...


@overload
def run(problem: Problem, seed: int = 0, *, seeds: int, **how: Unpack[HowToRun]) -> RunResult: ...


@takes_how_to_run
def run(
    problem: Problem, seed: int = 0, *, seeds: int | None = None, **how: Unpack[HowToRun]
) -> Record | RunResult:
    """Run one experiment: its record at one seed, or those of several with their means.

    A record is a pure function of the problem and the seed, to the bit for the same engine, dtype
    and number of tests on a CPU. What this machine cannot hold comes back as `infeasible` and what
    breaks as `failed`, each with its reason; a request that makes no sense raises `ProblemError`.

    Args:
        problem: what to learn, by what, from how much.
        seed: which instance; the same seed gives the same samples at every batch size.
        seeds: how many, from that one on. Without it one record is returned.
        how: how and where to run, as in `HowToRun`.

    >>> record = run(Problem(vocab=256, samples=1024, dim=128, length=8), seed=1)
    >>> record.status, record.lock_accuracy > 0.99, 0.7 < record.recall_accuracy < 0.95
    (<Status.OK: 'ok'>, True, True)
    >>> found = run(Problem(vocab=64, samples=512, dim=64, length=4), seeds=4)
    >>> len(found), found.summary["recall_accuracy"].low < found.summary["recall_accuracy"].mean
    (4, True)
    """
    if seeds is None:
        return _one(problem, seed, how)
    count = whole_number("seeds", seeds, 1, 10**6)
    first = whole_number("seed", seed, 0, LARGEST_SEED - count + 1)
    runs = [(problem, first + number) for number in range(count)]
    return RunResult(problem=problem, records=runner(how).records(runs, f"{count} seeds"))


def _one(problem: Problem, seed: int, given: HowToRun) -> Record:
    for name in _OF_MANY:
        if given.get(name, DEFAULTS.get(name)) != DEFAULTS.get(name):
            raise ProblemError(f"{name} is for several runs; give seeds= too")
    how: dict[str, Any] = {**runner(given).how}
    with shown_progress(how["progress"], "run") as progress:
        record = run_once(problem, seed, progress=progress, **{name: how[name] for name in _OF_ONE})
    if how["callback"] is not None:
        how["callback"](record)
    return record
