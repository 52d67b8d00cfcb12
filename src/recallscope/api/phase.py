"""Accuracy over a plane of two sizes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from recallscope.api import run_options
from recallscope.measurement.phase import phase_diagram, plan
from recallscope.measurement.phase_diagram import PhaseDiagram
from recallscope.problem import Problem, ProblemError
from recallscope.record import accuracy_name, check_accuracy, check_target, metric_names

if TYPE_CHECKING:
    from recallscope.store.store import Store


@run_options.with_run_options
def phase(
    problem: Problem,
    x: run_options.AxisLike,
    y: run_options.AxisLike,
    seeds: int = 4,
    target: float = 0.5,
    accuracy: str = "recall",
    *,
    seed: int = 0,
    **how: Unpack[run_options.RunOptions],
) -> PhaseDiagram:
    """Run every cell of a plane of two sizes, or other numeric fields, and compare with a law.

    Args:
        problem: everything but the two sizes; their values in the problem are ignored.
        x: a size and its values: 'dim=16:256:30', or ('dim', [16, 32, 64]).
        y: another; the boundary is sought along it.
        seeds: how many runs of each cell.
        target: the accuracy to cross.
        accuracy: recall, lock, one-step, or a metric.
        seed: of the first run.
        how: how and where to run, as in `HowToRun`.

    Returns:
        Every cell with its mean and interval, the measured boundary and the predicted one.

    Raises:
        ProblemError: axes that are equal or not numeric, or an invalid accuracy or target.

    >>> problem = Problem(vocab=64, samples=1, dim=1, length=4)
    >>> found = phase(problem, "dim=16,64", ("samples", [32, 2048]), seeds=2)
    >>> len(found.cells)
    4
    """
    name, runs = accuracy_name(accuracy), run_options.runner(how)
    columns, rows = run_options.axis_from(x, problem), run_options.axis_from(y, problem)
    check_accuracy(name, None if runs.own else metric_names(problem))
    check_target(target)
    records = runs.records(plan(problem, columns, rows, seeds, seed), "phase diagram")
    return phase_diagram(records, columns.name, rows.name, name, target)


def phase_of_store(
    store: str | Path | Store,
    x: str,
    y: str,
    given: Mapping[str, Any],
    target: float = 0.5,
    accuracy: str = "recall",
) -> PhaseDiagram:
    """The plane of two sizes in the records of a store, of those that have the fields given."""
    if not x.isidentifier() or not y.isidentifier():
        raise ProblemError(
            "a store has its values already: give --x and --y as names, as in --x dim --y samples"
        )
    store = run_options.store_at(store)
    records = [
        record
        for record in store.records()
        if record.measure is None
        and all(getattr(record.problem, name, None) == value for name, value in given.items())
    ]
    if not records:
        which = ", ".join(f"{name} {value!r}" for name, value in given.items())
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
