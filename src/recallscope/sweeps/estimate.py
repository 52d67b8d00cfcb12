"""What a sweep will take, before any of it is run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from recallscope.cell import Settings
from recallscope.common.machine import available_cores
from recallscope.problem import Problem
from recallscope.store.store import Store
from recallscope.sweeps.dispatch import cost_maker
from recallscope.sweeps.sweep import plan_of

_START_SECONDS = {"serial": 0.0, "processes": 3.0, "ray": 8.0}


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
    """From start to end on the executor, its own start included."""
    core_hours: float
    unknown: int = 0
    """Cells of whose cost nothing is known; they are not in the sums."""


def estimate(
    cells: Iterable[tuple[Problem, int]],
    store: Store,
    settings: Settings,
    executor: str,
    workers: int | None = None,
    part: tuple[int, int] | None = None,
) -> Estimate:
    """Count the cells, leave out the known ones, and add up the predicted costs."""
    known = store.statuses() if store.files.exists() else {}
    plan = plan_of(cells, settings, known, part)
    cost = cost_maker(settings)
    work = seconds = largest = longest = 0.0
    unknown = 0
    for cell in plan.pending:
        each = cost(cell.problem)
        if not each.known:
            unknown += 1
            continue
        work += each.multiply_adds
        seconds += each.seconds
        largest = max(largest, each.memory_bytes)
        longest = max(longest, each.seconds)
    cores = available_cores()
    count = workers or (1 if executor == "serial" else cores)
    # Serial runs one cell at a time on all cores; workers run one cell each on one core, unless
    # each cell is cut over all of them.
    share = cores if executor == "serial" else count
    alone = executor != "serial" and not settings.sharded
    wall = max(seconds / share, longest if alone else 0.0)
    return Estimate(
        cells=plan.cells,
        done=plan.known,
        to_run=len(plan.pending),
        multiply_adds=work,
        memory_bytes=largest * count,
        workers=count,
        seconds=wall + (_START_SECONDS[executor] if plan.pending else 0.0),
        core_hours=seconds / 3600,
        unknown=unknown,
    )
