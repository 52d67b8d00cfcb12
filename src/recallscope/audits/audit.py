"""What an audit found: of one checkpoint, of several side by side, or along a training."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from recallscope.audits.facts import MEMORIES, TableFacts
from recallscope.audits.measured import MeasuredFacts
from recallscope.audits.sentences import NOT_SAID, headline
from recallscope.audits.table_statistics import TableStatistics
from recallscope.common.formatting import format_number
from recallscope.common.plain import finite, from_fields, plain
from recallscope.results.result import Drawing, Result


@dataclass(frozen=True, kw_only=True)
class TableAudit:
    """One table of a checkpoint.

    Attributes:
        role: inputs, outputs, or both if a model has one table for both.
        name: what the file calls it.
        kind: how its numbers are stored.
        unused: rows that are not in use, by reason; used_rows of them are.
        tokens: the texts of the rows that are named, as far as they are known.
        called_unused: rows in use with a token that has a name such as [unused7].
    """

    role: str
    name: str
    kind: str
    rows: int
    used_rows: int
    unused: dict[str, int]
    dim: int
    statistics: TableStatistics
    tokens: dict[int, str] = field(default_factory=dict)
    called_unused: int = 0

    def token(self, row: int) -> str:
        """The text of a row's token, or its number."""
        return self.tokens.get(row) or f"row {row}"

    def to_dict(self, facts: TableFacts) -> dict[str, Any]:
        """Fit for JSON."""
        worst = {
            name: [
                {"row": row, "token": self.tokens.get(row), "value": value} for row, value in each
            ]
            for name, each in self.statistics.worst.items()
        }
        own = {name: getattr(self, name) for name in _OWN}
        found = {**plain(self.statistics), "worst": worst, "facts": finite(facts.to_dict())}
        return own | found

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        worst = {
            name: [(each["row"], each["value"]) for each in listed]
            for name, listed in given["worst"].items()
        }
        named = [each for listed in given["worst"].values() for each in listed]
        tokens = {each["row"]: each["token"] for each in named if each["token"] is not None}
        found = {"statistics": {**given, "worst": worst}, "tokens": tokens}
        return from_fields(cls, {**given, **found})


_SHOWN = ("participation_ratio", "stable_rank", "isoscore", "rank", "mean_share")
_OWN = ("role", "name", "kind", "rows", "used_rows", "unused", "dim", "called_unused")


@dataclass(frozen=True, kw_only=True)
class CheckpointAudit:
    """One checkpoint: its tables, and how many facts a memory between them stores."""

    name: str
    found_by: str
    tables: tuple[TableAudit, ...]
    facts: TableFacts
    measured: dict[str, MeasuredFacts] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        tables = [each.to_dict(self.facts) for each in self.tables]
        data = {"name": self.name, "found_by": self.found_by, "tables": tables}
        return data | {"measured": finite(plain(self.measured))}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        return from_fields(cls, {**given, "facts": given["tables"][0]["facts"]})


@dataclass(frozen=True, kw_only=True, repr=False)
class Audit(Result):
    """What `audit` returns: one checkpoint, or several in the order in which they were given."""

    checkpoints: tuple[CheckpointAudit, ...]

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return super().to_dict() | {"not_said": NOT_SAID}

    def rows(self) -> list[dict[str, Any]]:
        """One row for each table."""
        return [
            _row(checkpoint, table)
            for checkpoint in self.checkpoints
            for table in checkpoint.tables
        ]

    def write_page(self, path: str | Path) -> None:
        """Write one page that needs nothing but itself: text, figures and numbers."""
        from recallscope.audits.page import audit_page
        from recallscope.plotting.pages import check_page, write_page

        write_page(audit_page(self), check_page(path))

    @property
    def steps(self) -> list[float] | None:
        """Where checkpoints are along a training, if the last numbers of their names rise."""
        found = [
            re.findall(r"\d{1,15}", each.name.split(".safetensors")[0]) for each in self.checkpoints
        ]
        steps = [float(numbers[-1]) for numbers in found if numbers]
        rises = all(after > before for before, after in itertools.pairwise(steps))
        return steps if len(steps) == len(found) > 2 and rises else None

    def _words(self) -> str:
        if len(self.checkpoints) == 1:
            return headline(self.checkpoints[0].facts)
        dims = [each.tables[0].statistics.effective_dim["raw"] for each in self.checkpoints]
        shown = ", ".join(format_number(each) for each in dims[:8])
        more = ", …" if len(dims) > 8 else ""
        return f"{len(dims)} checkpoints; effective dimension of inputs: {shown}{more}"

    def _drawing(self) -> Drawing:
        from recallscope.audits.picture import audit_picture

        return Drawing("picture", audit_picture(self))


def _row(checkpoint: CheckpointAudit, table: TableAudit) -> dict[str, Any]:
    found, facts = table.statistics, checkpoint.facts
    counts = {
        f"{memory}_{name}": count
        for memory in MEMORIES
        for name, count in finite(getattr(facts, memory)).items()
    }
    return {
        "checkpoint": checkpoint.name,
        "role": table.role,
        "table": table.name,
        **{name: getattr(table, name) for name in ("rows", "used_rows", "dim")},
        "effective_dim_raw": found.effective_dim["raw"],
        "effective_dim_centred": found.effective_dim["centred"],
        **{name: getattr(found, name) for name in _SHOWN},
        **counts,
        "bottleneck": facts.bottleneck,
    }
