"""One thing changed at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from recallscope.cell import Settings
from recallscope.executors.base import Executor
from recallscope.measurement import ablation
from recallscope.measurement.ablation import AblationResult
from recallscope.problem import Problem
from recallscope.record import Record
from recallscope.sweeps.jobs import cell_workers
from recallscope.sweeps.scheduler import ProgressCallback, run_all

if TYPE_CHECKING:
    from recallscope.store.store import Store


class Ablated(NamedTuple):
    """What each change does, and the records of all runs."""

    results: list[AblationResult]
    records: list[Record]


def ablate(
    problem: Problem,
    names: Sequence[str] = (),
    accuracy: str = "recall_accuracy",
    *,
    seeds: int = 16,
    first_seed: int = 0,
    settings: Settings | None = None,
    executor: str | Executor = "serial",
    workers: int | None = None,
    address: str | None = None,
    store: Store | None = None,
    progress: ProgressCallback = lambda done, total: None,
) -> Ablated:
    """Change one thing of a problem at a time, at the same seeds; see `sweep` for where and how.

    Without names, all ablations that apply.

    >>> problem = Problem(vocab=64, samples=512, dim=48, length=4)
    >>> [result.pairs for result in ablate(problem, ["trigger"], seeds=2).results]
    [2]
    """
    ablations = ablation.named(names, problem, accuracy)
    runs = ablation.plan(ablations, seeds, first_seed)
    with cell_workers(executor, workers, address) as pool:
        records = run_all(runs, pool, settings or Settings(), progress, store=store)
    return Ablated([ablation.compare(each, records) for each in ablations], records)
