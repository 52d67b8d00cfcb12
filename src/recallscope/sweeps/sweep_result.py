"""The result of a sweep: the numbers of cells and runs, and summaries of the records."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from recallscope.common.errors import ProblemError
from recallscope.experiment.record import Record
from recallscope.experiment.summary import summarise
from recallscope.plot.panels import Picture
from recallscope.plot.result import Drawing, Result
from recallscope.problem.metrics import ACCURACIES
from recallscope.problem.problem import Problem
from recallscope.problem.rows import row_of
from recallscope.sweeps.store.cell_keys import CellKeys
from recallscope.sweeps.store.store import Store
from recallscope.theory.required_size import accuracies_along


@dataclass(frozen=True, kw_only=True, repr=False)
class SweepResult(Result):
    """The result of a sweep.

    Attributes:
        cells: how many problems at seeds it has.
        known: of them, how many had a record already.
        ran: how many were run.
        by_status: of all its cells that now have a record.
        seconds: since the first cell.
        store: where the records are.
    """

    cells: int
    known: int
    ran: int
    by_status: dict[str, int]
    seconds: float
    store: str = ""
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    keys: CellKeys | None = field(default=None, compare=False)
    kept_in: Store | None = field(default=None, compare=False)
    _in_json = ("store", "cells", "known", "ran", "by_status", "seconds")

    @cached_property
    def _summaries(self) -> list[dict[str, Any]]:
        rows = []
        for problem, by_seed in self._records().items():
            found = list(by_seed.values())
            row: dict[str, Any] = {"runs": len(found)}
            means = summarise(found)
            for name in ACCURACIES:
                mean, low, high = means.get(name) or (None, None, None)
                row |= {name: mean, f"low_{name}": low, f"high_{name}": high}
            rows.append(row_of(problem, row))
        return rows

    def _records(self) -> dict[Problem, dict[int, Record]]:
        """The records of each problem by seed."""
        records: dict[Problem, dict[int, Record]] = {problem: {} for problem in self.problems}
        if self.kept_in is None or self.keys is None:
            return records
        mine: dict[bytes, list[Problem]] = {}
        for problem in records:  # two may differ in their metrics only
            mine.setdefault(self.keys.digest(problem), []).append(problem)
        for digest, alike in mine.items():
            for record in self.kept_in.records_of(digest).values():
                for problem in alike:
                    records[problem][record.seed] = record
        return records

    def rows(self) -> list[dict[str, Any]]:
        """A row for each problem: means over its records in the store."""
        return self._summaries

    def _words(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in self.by_status.items())
        return (
            f"sweep of {self.cells} cells: {self.known} had a record, {self.ran} were run; "
            f"in {self.store}: {counts or 'none'}"
        )

    def _drawing(self) -> Drawing:
        from recallscope.plot.curves import curves_panel, varied
        from recallscope.plot.labels import accuracy_label, describe_common_fields

        rows = [row for row in self._summaries if row["runs"]]
        known = [name for name in ACCURACIES if any(row[name] is not None for row in rows)]
        if not known:
            raise ProblemError("there are no accuracies of this sweep in its store to draw")
        accuracy = "recall_accuracy" if "recall_accuracy" in known else known[0]
        names = varied(rows)
        theory = self._theory(names[0]) if names else []
        panel = curves_panel(rows, accuracy, theory=theory)
        caption = (
            f"{describe_common_fields(rows)}. Means of {accuracy_label(accuracy)} accuracy over "
            f"{min(row['runs'] for row in rows)} or more seeds, with 95 % intervals."
        )
        return Drawing("picture", Picture(caption=caption, panels=[panel]))

    def _theory(self, along: str) -> list[dict[str, Any]]:
        """The closed forms along a size, for each of the problems that differ in the others."""
        values = [getattr(problem, along) for problem in self.problems]
        sizes = [value for value in values if value is not None and math.isfinite(value)]
        rows = []
        for problem in dict.fromkeys(
            problem.replace(**{along: max(sizes)}) for problem in self.problems
        ):
            for size, accuracies in accuracies_along(problem, along, min(sizes), max(sizes)):
                rows.append(row_of(problem) | {along: size} | dict(accuracies))
        return rows
