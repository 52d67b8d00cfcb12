"""The content of a store, problem by problem."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from recallscope.common.plain import plain
from recallscope.experiment.summary import summarise
from recallscope.problem.problem import Problem
from recallscope.sweeps.store.schema import by_problem, to_records
from recallscope.sweeps.store.store import Store

_MOST_SHOWN = 100


class ProblemSummary(NamedTuple):
    """The records of one problem: how many of each status, and means over those that are ok."""

    problem: Problem
    dtype: str
    test_samples: int | None
    measure: str | None
    by_status: dict[str, int]
    means: dict[str, Any]

    def fields(self) -> dict[str, Any]:
        """Return the problem and how it was run."""
        how = {name: getattr(self, name) for name in ("dtype", "test_samples", "measure")}
        return self.problem.to_dict() | how


class StoreSummary(NamedTuple):
    """All records of a store, counted; the first problems in detail."""

    place: str
    records: int
    by_status: dict[str, int]
    files: int
    problems: int
    shown: list[ProblemSummary]

    def to_dict(self) -> dict[str, Any]:
        """One object fit for JSON."""
        shown = [
            listed.fields() | {"by_status": listed.by_status} | plain(listed.means)
            for listed in self.shown
        ]
        return self._asdict() | {"shown": shown}


def store_summary(store: Store) -> StoreSummary:
    """Count the records of a store, and summarise those of its first problems."""
    table = store.table()
    groups = by_problem(table)
    shown = []
    for rows in groups[:_MOST_SHOWN]:
        records = list(to_records(table.take(rows)))
        first, counted = records[0], Counter(str(record.status) for record in records)
        how = first.provenance.dtype, first.test_samples, first.measure
        by_status = dict(sorted(counted.items()))
        shown.append(ProblemSummary(first.problem, *how, by_status, summarise(records)))
    return StoreSummary(
        place=store.place,
        records=table.num_rows,
        by_status=dict(sorted(Counter(table["status"].to_pylist()).items())),
        files=store.files(),
        problems=len(groups),
        shown=shown,
    )
