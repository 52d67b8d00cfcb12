"""One problem, run at one seed or at several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from recallscope.common.checks import LARGEST_SEED, whole_number
from recallscope.common.errors import ProblemError
from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.experiment.experiment import run_together
from recallscope.experiment.record import Record
from recallscope.problem.given_embeddings import Embeddings
from recallscope.problem.problem import Problem
from recallscope.sweeps.executors.workers import ExecutorLike
from recallscope.sweeps.run_result import RunResult
from recallscope.sweeps.runner import Runner, runner

if TYPE_CHECKING:
    from recallscope.sweeps.store.store import Store


@overload
def run(
    problem: Problem,
    seed: int = ...,
    *,
    seeds: None = None,
    run: Callable[[Problem, int], Any] | None = ...,
    name: str | None = ...,
    version: int | None = ...,
    engine: str = ...,
    test_samples: int = ...,
    dtype: str = ...,
    device: str = ...,
    embeddings: Embeddings | None = ...,
    executor: ExecutorLike = ...,
    workers: int | None = ...,
    address: str | None = ...,
    store: str | Path | Store | None = ...,
    progress: ProgressCallback | bool = ...,
    callback: Callable[[Record], None] | None = ...,
) -> Record: ...


@overload
def run(
    problem: Problem,
    seed: int = ...,
    *,
    seeds: int,
    run: Callable[[Problem, int], Any] | None = ...,
    name: str | None = ...,
    version: int | None = ...,
    engine: str = ...,
    test_samples: int = ...,
    dtype: str = ...,
    device: str = ...,
    embeddings: Embeddings | None = ...,
    executor: ExecutorLike = ...,
    workers: int | None = ...,
    address: str | None = ...,
    store: str | Path | Store | None = ...,
    progress: ProgressCallback | bool = ...,
    callback: Callable[[Record], None] | None = ...,
) -> RunResult: ...


def run(
    problem: Problem,
    seed: int = 0,
    *,
    seeds: int | None = None,
    run: Callable[[Problem, int], Any] | None = None,
    name: str | None = None,
    version: int | None = None,
    engine: str = "auto",
    test_samples: int = 4096,
    dtype: str = "float32",
    device: str = "cpu",
    embeddings: Embeddings | None = None,
    executor: ExecutorLike = "serial",
    workers: int | None = None,
    address: str | None = None,
    store: str | Path | Store | None = None,
    progress: ProgressCallback | bool = True,
    callback: Callable[[Record], None] | None = None,
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
        run: your experiment, a function from a problem and a seed to an accuracy and the number of
            its tests, or to named metrics. Your function then decides on engine, dtype and tests.
        name: what to call it in a store; by default the name of the function.
        version: yours, to be raised when the function changes; by default its source is hashed, and
            an edit of it is refused.
        engine: 'stream', 'counts', 'reference', or 'auto' for the one that costs less.
        test_samples: fresh samples to test each run on.
        dtype: 'float32', or 'float64' for twice the time and memory.
        device: where torch computes.
        embeddings: your own arrays, if the problem names them.
        executor: 'serial', 'processes', 'ray', a `concurrent.futures.Executor`, or a function
            that makes one.
        workers: how many workers; as many as there are cores if None.
        address: of a Ray cluster; None starts a private one on this machine.
        store: a folder or an address: what it has is not run again, and what is run is kept there.
        progress: True for a bar in a terminal or a notebook, False for none, or a function that is
            called with (work done, work in all).
        callback: called with each record that is made, for trackers.

    Returns:
        A record; with `seeds` a collection of records with their means and intervals.

    Raises:
        ProblemError: an invalid seed or setting, or a setting that needs several runs.

    >>> record = run(Problem(vocab=256, samples=1024, dim=128, length=8), seed=1)
    >>> record.status, record.attention_accuracy > 0.99, 0.7 < record.recall_accuracy < 0.95
    (<Status.OK: 'ok'>, True, True)
    >>> runs = run(Problem(vocab=64, samples=512, dim=64, length=4), seeds=4)
    >>> len(runs), runs.summary["recall_accuracy"].low < runs.summary["recall_accuracy"].mean
    (4, True)
    """
    runs = runner(
        run=run,
        name=name,
        version=version,
        engine=engine,
        test_samples=test_samples,
        dtype=dtype,
        device=device,
        embeddings=embeddings,
        executor=executor,
        workers=workers,
        address=address,
        store=store,
        progress=progress,
        callback=callback,
    )
    of_many = {
        **{"run": run, "name": name, "version": version},
        **{"workers": workers, "address": address, "store": store},
        "executor": None if executor == "serial" else executor,
    }
    several = [argument for argument, value in of_many.items() if value is not None]
    if seeds is None:
        if several:
            raise ProblemError(f"{several[0]} is for several runs; give seeds= too")
        return _one_by_one(problem, [seed], runs)[0]
    count = whole_number("seeds", seeds, 1, 10**6)
    first = whole_number("seed", seed, 0, LARGEST_SEED - count + 1)
    numbers = range(first, first + count)
    if several:
        records = runs.records([(problem, number) for number in numbers], f"{count} seeds")
    else:
        records = _one_by_one(problem, numbers, runs)
    return RunResult(problem=problem, records=records)


def _one_by_one(problem: Problem, numbers: Sequence[int], runs: Runner) -> list[Record]:
    """Run in this process and show progress within each run, which may have a billion samples."""
    records: list[Record] = []
    with shown_progress(runs.progress, "run") as show:

        def update(done: float, total: float) -> None:
            if len(numbers) == 1:  # show the counts of the run itself
                show(done, total)
            else:
                show(len(records) + len(together) * done / total, len(numbers))

        how = runs.settings
        most = problem.part("learner").at_once(problem)
        for first in range(0, len(numbers), most):
            together = numbers[first : first + most]
            made = run_together(
                problem,
                together,
                engine=how.engine,
                test_samples=how.test_samples,
                dtype=how.dtype,
                device=how.device,
                embeddings=how.embeddings,
                progress=update,
            )
            if (tell := runs.callback) is not None:
                for record in made:
                    tell(record)
            records += made
    return records
