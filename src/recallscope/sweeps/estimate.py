"""The predicted cost of a sweep."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

import torch

from recallscope.common.machine import available_cores
from recallscope.experiment.cell import Settings
from recallscope.experiment.experiment import run
from recallscope.problem.problem import Problem
from recallscope.sweeps.dispatch import cost_maker
from recallscope.sweeps.run_sweep import plan_of
from recallscope.sweeps.store.store import Store
from recallscope.three_step.batch import tile_size
from recallscope.three_step.cost import predict_cost

_START_SECONDS = {"serial": 0.0, "processes": 1.2, "ray": 5.0}
_TIMED = Problem(vocab=512, samples=4096, dim=64, length=16)
_TIMING = 0.5  # seconds


class Estimate(NamedTuple):
    """Cells, and what those still to be run cost."""

    cells: int
    done: int
    to_run: int
    multiply_adds: float
    memory_bytes: float
    """Of all workers together, each at its largest cell."""
    workers: int
    seconds: float
    """From start to end on the executor, including its start."""
    core_hours: float
    unknown: int = 0
    """Cells of unknown cost; they are not in the sums."""


def estimate(
    cells: Iterable[tuple[Problem, int]],
    store: Store,
    settings: Settings,
    executor: str,
    workers: int | None = None,
    part: tuple[int, int] | None = None,
    pace: float = 1.0,
) -> Estimate:
    """Count the cells, leave out the known ones, and add up the predicted costs.

    `pace` is the time of this machine relative to a core of a server of 2023.
    """
    plan = plan_of(cells, settings, store.index(), part)
    cost = cost_maker(settings)
    work = seconds = serial = largest = longest = 0.0
    unknown = 0
    for problem, same in itertools.groupby(plan.pending, key=attrgetter("problem")):
        each, seeds = cost(problem), sum(1 for _ in same)
        if not each.known:
            unknown += seeds
            continue
        work += seeds * each.multiply_adds
        seconds += seeds * pace * each.seconds
        serial += seeds * pace * each.seconds / _threads(problem)
        largest = max(largest, each.memory_bytes)
        longest = max(longest, pace * each.seconds)
    count = workers or (1 if executor == "serial" else available_cores())
    # Serial runs one cell at a time on all threads; workers run one cell each on one core, unless
    # each cell is cut over all of them.
    wall = serial
    if executor != "serial":
        wall = max(seconds / count, 0.0 if settings.sharded else longest)
    return Estimate(
        cells=plan.cells,
        done=plan.known,
        to_run=len(plan.pending),
        multiply_adds=work,
        memory_bytes=largest * count,
        workers=count,
        seconds=wall + (pace * _START_SECONDS[executor] if plan.pending else 0.0),
        core_hours=seconds / 3600,
        unknown=unknown,
    )


def measured_pace(dtype: str) -> float:
    """The measured over the predicted CPU time of runs on this machine.

    CPU time ignores other work of the moment, which says little about the time of a whole sweep.
    """
    expected = predict_cost(_TIMED, dtype=dtype).seconds
    run(_TIMED, 0, dtype=dtype)  # the first takes longer
    started, runs = time.process_time(), 0
    while time.process_time() - started < _TIMING:
        runs += 1
        run(_TIMED, runs, dtype=dtype)
    return (time.process_time() - started) / (runs * expected)


def _threads(problem: Problem) -> float:
    """How many threads one cell alone keeps busy: one for each tile of its batch at most."""
    tiles = problem.samples / tile_size(problem)
    return min(torch.get_num_threads(), tiles if math.isinf(tiles) else math.ceil(tiles))
