"""The size at which an accuracy crosses a target."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recallscope.common.progress_bar import ProgressCallback
from recallscope.experiment.record import Record
from recallscope.measure.critical_search import CriticalSearch
from recallscope.measure.critical_size import CriticalSize
from recallscope.measure.searches import run_searches
from recallscope.problem.given_embeddings import Embeddings
from recallscope.problem.metrics import accuracy_name
from recallscope.problem.problem import Problem
from recallscope.sweeps.executors.workers import ExecutorLike
from recallscope.sweeps.runner import runner

if TYPE_CHECKING:
    from recallscope.sweeps.store.store import Store


def critical(
    problem: Problem,
    quantity: str = "samples",
    target: float = 0.5,
    accuracy: str = "recall",
    *,
    low: float | None = None,
    high: float | None = None,
    precision: float = 0.1,
    budget: int = 64,
    seed: int = 0,
    prior: float | str | None = "theory",
    seeds_passing: float | None = None,
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
) -> CriticalSize:
    """Search for the critical size, from first run to last.

    Args:
        problem: everything but the size sought; the value of that size is ignored.
        quantity: samples, dim, width, vocab or length, or a field with which recall rises or falls.
        target: the accuracy to cross.
        accuracy: recall, attention, first-gradient, or a metric.
        low: the smallest size to try; by default far below where the target could be reached.
        high: the largest.
        precision: the sufficient width of the interval, relative to the size.
        budget: the most runs.
        seed: of the first run; each run has its own.
        prior: the first size to try; "theory" for the prediction of closed forms, or None.
        seeds_passing: instead of the mean, the fraction of seeds that must reach the target.
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
        The size with its interval, or a status with the reason. It is `not_reached` if the target
        is not crossed between low and high.

    Raises:
        ProblemError: an invalid size, accuracy or target.

    >>> problem = Problem(vocab=64, samples=1, dim=48, length=4)
    >>> size = critical(problem, "samples", 0.5, budget=24)
    >>> size.low < size.value < size.high
    True

    With `run`, the search uses your function. It maps a problem and a seed to an accuracy and the
    number of its tests:

    >>> def half_by_1000(problem, seed):
    ...     return problem.samples / (problem.samples + 1000), 4096
    >>> size = critical(problem, "samples", 0.5, run=half_by_1000)
    >>> size.low < 1000 < size.high
    True
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
    sought = (quantity, target, accuracy_name(accuracy))
    within: dict[str, Any] = {"low": low, "high": high, "precision": precision, "budget": budget}
    within |= {"first_seed": seed, "prior": prior, "seeds_passing": seeds_passing}
    search = CriticalSearch(problem, *sought, **within, own=runs.own)
    with runs.working("search") as (place, keep):
        run_searches([search], *place, **keep)
    return search.result()
