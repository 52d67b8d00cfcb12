"""The power law of a critical size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recallscope.common.progress_bar import ProgressCallback
from recallscope.experiment.record import Record
from recallscope.measure.critical_search import CriticalSearch
from recallscope.measure.scaling import Scaling, one_at_a_time, scaling_of
from recallscope.measure.searches import run_searches
from recallscope.problem.axes import AxisLike, axis_from, check_varied
from recallscope.problem.given_embeddings import Embeddings
from recallscope.problem.metrics import accuracy_name
from recallscope.problem.problem import Problem
from recallscope.sweeps.executors.workers import ExecutorLike
from recallscope.sweeps.runner import runner

if TYPE_CHECKING:
    from recallscope.sweeps.store.store import Store


def fit(
    problem: Problem,
    quantity: str,
    vary: Sequence[AxisLike],
    target: float = 0.5,
    accuracy: str = "recall",
    *,
    expect: Mapping[str, float] | None = None,
    low: float | None = None,
    high: float | None = None,
    precision: float = 0.1,
    budget: int = 64,
    seed: int = 0,
    prior: float | str | None = "theory",
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
) -> Scaling:
    """Vary sizes one at a time about a problem, and fit a power law to their critical sizes.

    No two searches share a seed.

    Args:
        problem: the middle, from which one size at a time is varied.
        quantity: the size, or field with which recall rises or falls, that is sought.
        vary: sizes and their values: 'dim=32:128:4', or ('dim', [32, 64, 128]).
        target: the accuracy to cross.
        accuracy: recall, attention, first-gradient, or a metric.
        expect: your exponents by size, tested jointly against the measured ones.
        low: the smallest size to try; by default far below where the target could be reached.
        high: the largest.
        precision: the sufficient width of the interval, relative to the size.
        budget: the most runs of each search.
        seed: of the first run; each run has its own.
        prior: the first size to try; "theory" for the prediction of closed forms, or None.
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
        The exponents with their intervals, the p-value of the fit, and every critical size.

    Raises:
        ProblemError: axes that cannot be varied, or an invalid size, accuracy or target.

    >>> problem = Problem(vocab=64, samples=1, dim=48, length=4)
    >>> scaling = fit(problem, "samples", ["dim=32,64"], budget=8)
    >>> [row["dim"] for row in scaling.rows()]
    [32, 64]
    """
    axes = [axis_from(axis, problem) for axis in vary]
    check_varied(axes, quantity)
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
    sought = (quantity, target, accuracy_name(accuracy))
    within: dict[str, Any] = {"low": low, "high": high, "precision": precision, "prior": prior}
    within |= {"budget": budget, "own": runs.own}
    searches = [
        CriticalSearch(varied, *sought, **within, first_seed=seed + number * budget)
        for number, varied in enumerate(one_at_a_time(problem, axes, quantity))
    ]
    with runs.working("searches") as (place, keep):
        run_searches(searches, *place, **keep)
    return scaling_of([search.result() for search in searches]).expecting(expect or {})
