"""One thing changed at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recallscope.common.checks import whole_number
from recallscope.common.errors import ProblemError
from recallscope.common.progress_bar import ProgressCallback
from recallscope.experiment.cell import check_amount
from recallscope.experiment.record import Record
from recallscope.measure import ablation
from recallscope.measure.ablation import Ablations
from recallscope.problem.given_embeddings import Embeddings
from recallscope.problem.metrics import accuracy_name
from recallscope.problem.problem import Problem
from recallscope.sweeps.executors.workers import ExecutorLike
from recallscope.sweeps.runner import runner

if TYPE_CHECKING:
    from recallscope.sweeps.store.store import Store


def ablate(
    problem: Problem,
    names: Sequence[str] = (),
    accuracy: str = "recall",
    *,
    seeds: int = 16,
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
) -> Ablations:
    """Change one thing of a problem at a time, and compare both at the same seeds.

    Args:
        problem: as it is before the change.
        names: embedding, mlp, trigger, steps, batch, gaussian; all that apply if none is given.
        accuracy: recall, attention, first-gradient, or a metric.
        seeds: how many runs of each arm.
        seed: the first.
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
        The difference that each change makes, with its interval, paired by seed.

    Raises:
        ProblemError: an unknown name, or a change that does not apply to the problem.

    >>> problem = Problem(vocab=64, samples=512, dim=48, length=4)
    >>> [result.pairs for result in ablate(problem, ["trigger"], seeds=2).results]
    [2]
    """
    if isinstance(names, str):
        raise ProblemError(f"names are a list, as in [{names!r:.60}]")
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
    if runs.own:
        raise ProblemError("a custom experiment has nothing to ablate; use sweep")
    ablations = ablation.named(names, problem, accuracy_name(accuracy))
    count = whole_number("seeds", seeds, 1, 10**6)
    check_amount("this ablation", len(ablation.plan(ablations, 1)), count)
    records = runs.records(ablation.plan(ablations, count, seed), "ablations")
    results = [ablation.compare(arms, records) for arms in ablations]
    return Ablations(problem=problem, seeds=count, results=results, records=records)
