"""Accuracy over a plane of two sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recallscope.common.checks import check_target
from recallscope.common.errors import ProblemError
from recallscope.common.progress_bar import ProgressCallback
from recallscope.experiment.record import Record
from recallscope.measure.phase_diagram import PhaseDiagram
from recallscope.measure.planes import phase_diagram, plan
from recallscope.problem.axes import AxisLike, axis_from
from recallscope.problem.given_embeddings import Embeddings
from recallscope.problem.metrics import accuracy_name, check_accuracy, metric_names
from recallscope.problem.problem import Problem
from recallscope.sweeps.executors.workers import ExecutorLike
from recallscope.sweeps.runner import runner, store_at

if TYPE_CHECKING:
    from recallscope.sweeps.store.store import Store


def phase(
    problem: Problem,
    x: AxisLike,
    y: AxisLike,
    seeds: int = 4,
    target: float = 0.5,
    accuracy: str = "recall",
    *,
    seed: int = 0,
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
) -> PhaseDiagram:
    """Run every cell of a plane of two sizes, or other numeric fields, and compare with a law.

    Args:
        problem: everything but the two sizes; their values in the problem are ignored.
        x: a size and its values: 'dim=16:256:30', or ('dim', [16, 32, 64]).
        y: another; the boundary is sought along it.
        seeds: how many runs of each cell.
        target: the accuracy to cross.
        accuracy: recall, attention, first-gradient, or a metric.
        seed: of the first run.
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
        Every cell with its mean and interval, the measured boundary and the predicted one.

    Raises:
        ProblemError: axes that are equal or not numeric, or an invalid accuracy or target.

    >>> problem = Problem(vocab=64, samples=1, dim=1, length=4)
    >>> diagram = phase(problem, "dim=16,64", ("samples", [32, 2048]), seeds=2)
    >>> len(diagram.cells)
    4
    """
    kind = accuracy_name(accuracy)
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
    columns, rows = axis_from(x, problem), axis_from(y, problem)
    check_accuracy(kind, None if runs.own else metric_names(problem))
    check_target(target)
    records = runs.records(plan(problem, columns, rows, seeds, seed), "phase diagram")
    return phase_diagram(records, columns.name, rows.name, kind, target)


def phase_of_store(
    store: str | Path | Store,
    x: str,
    y: str,
    fields: Mapping[str, Any],
    target: float = 0.5,
    accuracy: str = "recall",
) -> PhaseDiagram:
    """The plane of two sizes in the records of a store, of those that have the fields given."""
    if not x.isidentifier() or not y.isidentifier():
        raise ProblemError(
            "a store has its values already: give --x and --y as names, as in --x dim --y samples"
        )
    store = store_at(store)
    records = [
        record
        for record in store.records()
        if record.measure is None
        and all(getattr(record.problem, name, None) == value for name, value in fields.items())
    ]
    if not records:
        which = ", ".join(f"{name} {value!r}" for name, value in fields.items())
        raise ProblemError(
            f"the store {store.place!r} has no runs{which and ' with '}{which}; "
            f"recallscope records --store {store.place} list shows what it has"
        )
    if len({(record.problem, record.seed) for record in records}) < len(records):
        raise ProblemError(
            f"the store {store.place!r} has the same problem and seed more than once, run in other "
            "ways; each may count once only: draw from a store of one sweep"
        )
    return phase_diagram(records, x, y, accuracy_name(accuracy), target)
