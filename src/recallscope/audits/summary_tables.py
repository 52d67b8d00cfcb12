"""The numbers of an audit as texts in tables, the same in a terminal and on a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from recallscope.audits.facts import MEMORIES, TREATMENTS, Counts
from recallscope.common.formatting import format_number
from recallscope.parts.data_files import data_next_to
from recallscope.theory.table_facts import SHARES

if TYPE_CHECKING:
    from recallscope.audits.audit import Audit, CheckpointAudit, TableAudit

Row = list[str]
SHARE_NAMES = [f"{100 * share:g} %" for share in SHARES]
_WORST: dict[str, str] = data_next_to(__file__, "words.toml")["worst"]


def facts_table(found: CheckpointAudit) -> list[Row]:
    """Facts by memory and by recalled fraction, predicted and measured."""
    facts = found.facts
    rows = [["one step, rows as they are", *_counts(facts.one_step, facts.looked_at)]]
    rows += [
        [f"one step, {called}", *_counts(facts.treated[name], facts.looked_at)]
        for name, called in TREATMENTS.items()
    ]
    return [*rows, ["training to the end", *_counts(facts.trained, facts.looked_at)]]


def measured_table(found: CheckpointAudit) -> list[Row]:
    """Experiments next to the prediction for the rows that they were made with."""
    rows = []
    for memory, seen in found.measured.items():
        called = f"{MEMORIES[memory]}, {seen.dim} dimensions"
        rows.append([f"{called}: predicted", *_counts(seen.predicted, seen.rows)])
        measured = [
            f"{_count(seen.measured[share], seen.rows)} "
            f"({_count(seen.low[share], seen.rows)} to {_count(seen.high[share], seen.rows)})"
            for share in SHARES
        ]
        rows.append([f"{called}: measured", *measured])
    return rows


def statistics_table(tables: list[TableAudit]) -> list[Row]:
    """What tables are like, one in each column."""
    return [[called, *map(text, tables)] for called, text in _STATISTICS.items()]


def comparison_table(found: Audit) -> list[Row]:
    """Several checkpoints, one in each row."""
    rows = []
    for each in found.checkpoints:
        for table in each.tables:
            dims = table.statistics.effective_dim
            counts = (
                _count(getattr(each.facts, memory)[share], each.facts.looked_at)
                for memory in MEMORIES
                for share in (0.5, 0.9)
            )
            sizes = f"{table.used_rows:,}", str(table.dim)
            effective = format_number(dims["raw"]), format_number(dims["centred"])
            rows.append([_short(each.name), table.role, *sizes, *effective, *counts])
    return rows


COMPARED = (
    *("checkpoint", "table", "rows in use", "dim", "effective", "centred"),
    *("one step, 50 %", "90 %", "trained, 50 %", "90 %"),
)


def worst_tokens(table: TableAudit) -> list[tuple[str, list[tuple[str, str]]]]:
    """Tokens by what is wrong with their rows, each with how much."""
    worst = table.statistics.worst
    return [
        (called, [(table.token(row), format_number(value)) for row, value in worst[name]])
        for name, called in _WORST.items()
    ]


def _short(name: str) -> str:
    """The end of a path, which distinguishes checkpoints."""
    parts = name.rstrip("/").split("/")
    return "/".join(parts[-2:])[-40:]


def _effective(table: TableAudit, how: str) -> str:
    error = table.statistics.effective_dim_error[how]
    uncertain = f" ± {format_number(error, 2)}" if error else ""
    return f"{format_number(table.statistics.effective_dim[how])}{uncertain}"


def _counts(counts: Counts, looked_at: int) -> list[str]:
    return [_count(counts[share], looked_at) for share in SHARES]


def _count(count: float, looked_at: int) -> str:
    return f">{looked_at:,}" if count == float("inf") else f"{float(f'{count:.3g}'):,.0f}"


_STATISTICS: dict[str, Callable[[TableAudit], str]] = {
    "rows": lambda table: f"{table.rows:,}",
    "rows in use": lambda table: f"{table.used_rows:,}",
    "dimensions": lambda table: str(table.dim),
    "effective dimension": lambda table: _effective(table, "raw"),
    "effective dimension, centred": lambda table: _effective(table, "centred"),
    "mean's fraction of squared lengths": lambda table: f"{table.statistics.mean_share:.3f}",
    "length of a row: 5 %, median, 95 %": lambda table: ", ".join(
        map(format_number, table.statistics.lengths[1:4])
    ),
    "participation ratio": lambda table: format_number(table.statistics.participation_ratio),
    "stable rank": lambda table: format_number(table.statistics.stable_rank),
    "IsoScore": lambda table: f"{table.statistics.isoscore:.3f}",
    "rank": lambda table: str(table.statistics.rank),
    "mean squared cosine, times that of random rows": lambda table: (
        f"{table.dim / table.statistics.effective_dim['raw']:.1f}"
    ),
    "99 % of cosines are within": lambda table: (
        f"±{table.statistics.overlaps['raw']['percentile_99']:.2f} "
        f"(random ±{table.statistics.overlaps['random']['percentile_99']:.2f})"
    ),
}
