"""The table of critical sizes: one CSV file, a row for each search of a sweep.

They follow from the table of runs, and the sizes by closed forms next to them from the theory.
Computing one takes a tenth of a second, and statements rest on hundreds, so they are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from recallscope.common.csv_files import read_csv, write_csv
from recallscope.common.status import Status
from recallscope.experiment.record import Record
from recallscope.measure.critical_search import CriticalSearch
from recallscope.measure.sweep_file import Sweep
from recallscope.problem.axes import SIZES
from recallscope.problem.problem import Problem
from recallscope.problem.rows import problem_of
from recallscope.statistics.intervals import Interval
from recallscope.theory.required_size import solve
from reproduction.intervals import UNKNOWN
from reproduction.recorded_names import with_todays_names
from reproduction.verdict import LEVEL

_FIELDS = ("vocab", "samples", "dim", "length", "width", "activation", "embedding")
_INTERVALS = ("judged", "jointly", "shown")


@dataclass(frozen=True, kw_only=True)
class CriticalSize:
    """The size at which an accuracy crosses a target, as its natural logarithm.

    Attributes:
        problem: all other sizes; that of `quantity` has no meaning.
        quantity: the size sought.
        target: the accuracy that is crossed.
        accuracy: which one.
        status: ok, or not_reached in the range that was searched.
        judged: with the interval of verdicts; an end outside of the searched range is infinite.
        jointly: with one at a level that leaves all searches of the sweep right together.
        shown: with the 95 % interval of figures.
        sd: the standard deviation of the logarithm.
        runs: how many were made.
        theory: the size by closed forms, if one reaches the target; the search does not use it.
    """

    problem: Problem
    quantity: str
    target: float
    accuracy: str
    status: Status
    judged: Interval
    jointly: Interval
    shown: Interval
    sd: float
    runs: int
    theory: float | None

    def row(self, **more: Any) -> dict[str, Any]:
        """A row of a table, with the sizes of the problem and a 95 % interval."""
        sizes = {
            name: None if name == self.quantity else getattr(self.problem, name)
            for name in ("vocab", "samples", "dim", "length", "width")
        }
        reached = self.status is Status.OK
        value, low, high = (math.exp(end) if math.isfinite(end) else None for end in self.shown)
        return {
            **{name: size for name, size in sizes.items() if size is not None},
            "critical": self.quantity,
            "status": str(self.status),
            "value": value if reached else None,
            "low": low,
            "high": high,
            "log_mean": self.shown.mean if reached else None,
            "log_sd": self.sd if reached else None,
            "runs": self.runs,
            **more,
        }


def searches_told(sweep: Sweep, records: Iterable[Record]) -> list[CriticalSearch]:
    """The searches of a sweep, each with its runs; no two share a seed."""
    by_seed = {record.seed: record for record in records}
    searches = sweep.searches()
    for search in searches:
        seeds = range(search.first_seed, search.first_seed + search.budget)
        search.tell(by_seed[seed] for seed in seeds if seed in by_seed)
    return searches


def critical_sizes(searches: Sequence[CriticalSearch]) -> list[CriticalSize]:
    """What the searches of a sweep have found, when they are done."""
    return [_critical_size(search, len(searches)) for search in searches]


def _critical_size(search: CriticalSearch, searches: int) -> CriticalSize:
    return CriticalSize(
        problem=search.problem,
        quantity=search.quantity,
        target=search.target,
        accuracy=search.accuracy,
        status=search.status,
        sd=search.crossing.sd,
        runs=search.evaluations,
        theory=_theory(search.problem, search.quantity, search.target, search.accuracy),
        judged=_log_size(search, LEVEL),
        jointly=_log_size(search, 1 - (1 - LEVEL) / searches),
        shown=_log_size(search, 0.95),
    )


@cache  # sweeps share problems, and tests make searches of them many times
def _theory(problem: Problem, quantity: str, target: float, accuracy: str) -> float | None:
    return solve(problem, quantity, target, accuracy).value


def _log_size(search: CriticalSearch, level: float) -> Interval:
    if search.status not in (Status.OK, Status.NOT_REACHED):
        return UNKNOWN
    crossing = search.crossing
    start, end = crossing.range
    middle = min(max(crossing.quantile(0.5), start), end)
    # Beyond the range the curve is a guess; only that the crossing is outside is known.
    first = min(crossing.quantile((1 - level) / 2), middle)
    last = max(crossing.quantile((1 + level) / 2), middle)
    low = first if first >= start else -math.inf
    high = last if last <= end else math.inf
    if SIZES[search.quantity].grows:
        return Interval(middle, low, high)
    return Interval(-middle, -high, -low)


def write_sizes(path: Path, by_sweep: Mapping[str, Sequence[CriticalSize]]) -> None:
    """Write the critical sizes of sweeps."""
    rows = [_row(sweep, size) for sweep in sorted(by_sweep) for size in by_sweep[sweep]]
    write_csv(rows, path)


def read_sizes(path: Path) -> dict[str, list[CriticalSize]]:
    """The critical sizes of every sweep, in their order."""
    by_sweep: dict[str, list[CriticalSize]] = {}
    for row in with_todays_names(read_csv(path)) if path.exists() else ():
        by_sweep.setdefault(row["sweep"], []).append(_size(row))
    return by_sweep


def _row(sweep: str, size: CriticalSize) -> dict[str, Any]:
    fields = {name: getattr(size.problem, name) for name in _FIELDS}
    intervals = {
        f"{name} {end}": value
        for name in _INTERVALS
        for end, value in zip(("ln size", "low", "high"), getattr(size, name), strict=True)
    }
    rest = {"quantity": size.quantity, "target": size.target, "accuracy": size.accuracy}
    how = {"status": str(size.status), "sd": size.sd, "runs": size.runs, "theory": size.theory}
    return {"sweep": sweep, **fields, **rest, **how, **intervals}


def _size(row: Mapping[str, Any]) -> CriticalSize:
    intervals = {
        name: Interval(*(float(row[f"{name} {end}"]) for end in ("ln size", "low", "high")))
        for name in _INTERVALS
    }
    return CriticalSize(
        problem=problem_of({name: row[name] for name in _FIELDS}),
        quantity=row["quantity"],
        target=row["target"],
        accuracy=row["accuracy"],
        status=Status(row["status"]),
        sd=float(row["sd"]),
        runs=row["runs"],
        theory=row["theory"],
        **intervals,
    )
