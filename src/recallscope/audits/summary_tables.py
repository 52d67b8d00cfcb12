"""The numbers of an audit as texts in tables, the same in a terminal and on a page."""

from __future__ import annotations

from recallscope.audits.audit import Audit, CheckpointAudit, TableAudit
from recallscope.audits.facts import MEMORIES, TREATMENTS, Counts
from recallscope.common.formatting import format_number
from recallscope.theory.table_facts import SHARES

Row = list[str]
SHARE_NAMES = [f"{100 * share:g} %" for share in SHARES]
_WORST = {
    "overlap_raw": "overlap most with others, times the average",
    "overlap_centred": "the same of centred rows",
    "shortest": "shortest, length",
    "longest": "longest, length",
}


def facts_table(found: CheckpointAudit) -> list[Row]:
    """Facts by memory and by the share that is recalled, predicted and measured."""
    facts = found.facts
    rows = [["one step, rows as they are", *_counts(facts.one_step, facts.looked_at)]]
    rows += [
        [f"one step, {called}", *_counts(facts.treated[name], facts.looked_at)]
        for name, called in TREATMENTS.items()
    ]
    return [*rows, ["training to the end", *_counts(facts.trained, facts.looked_at)]]


def measured_table(found: CheckpointAudit) -> list[Row]:
    """Experiments beside the prediction for the rows that they were made with."""
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

    def row(called: str, values: list[str]) -> Row:
        return [called, *values]

    seen = [table.statistics for table in tables]
    return [
        row("rows", [f"{table.rows:,}" for table in tables]),
        row("rows in use", [f"{table.used_rows:,}" for table in tables]),
        row("dimensions", [str(table.dim) for table in tables]),
        row(
            "effective dimension",
            [_uncertain(each.effective_dim, each.effective_dim_error, "raw") for each in seen],
        ),
        row(
            "effective dimension, centred",
            [_uncertain(each.effective_dim, each.effective_dim_error, "centred") for each in seen],
        ),
        row("share of the mean in squared lengths", [f"{each.mean_share:.3f}" for each in seen]),
        row(
            "length of a row: 5 %, median, 95 %",
            [", ".join(format_number(each) for each in one.lengths[1:4]) for one in seen],
        ),
        row("participation ratio", [format_number(each.participation_ratio) for each in seen]),
        row("stable rank", [format_number(each.stable_rank) for each in seen]),
        row("IsoScore", [f"{each.isoscore:.3f}" for each in seen]),
        row("rank", [str(each.rank) for each in seen]),
        row(
            "mean squared cosine, times that of random rows",
            [
                f"{table.dim / each.effective_dim['raw']:.1f}"
                for table, each in zip(tables, seen, strict=True)
            ],
        ),
        row(
            "99 % of cosines are within",
            [
                f"±{each.overlaps['raw']['percentile_99']:.2f} "
                f"(random ±{each.overlaps['random']['percentile_99']:.2f})"
                for each in seen
            ],
        ),
    ]


def comparison_table(found: Audit) -> list[Row]:
    """Several checkpoints, one in each row."""
    rows = []
    for each in found.checkpoints:
        for table in each.tables:
            dims = table.statistics.effective_dim
            facts = each.facts
            rows.append(
                [
                    _short(each.name),
                    table.role,
                    f"{table.used_rows:,}",
                    str(table.dim),
                    format_number(dims["raw"]),
                    format_number(dims["centred"]),
                    *(
                        _count(getattr(facts, memory)[share], facts.looked_at)
                        for memory in MEMORIES
                        for share in (0.5, 0.9)
                    ),
                ]
            )
    return rows


COMPARED = (
    *("checkpoint", "table", "rows in use", "dim", "effective", "centred"),
    *("one step, 50 %", "90 %", "trained, 50 %", "90 %"),
)


def worst_tokens(table: TableAudit) -> list[tuple[str, list[tuple[str, str]]]]:
    """Tokens by what is wrong with their rows, each with how much."""
    return [
        (
            called,
            [
                (table.token(row), format_number(value))
                for row, value in table.statistics.worst[name]
            ],
        )
        for name, called in _WORST.items()
    ]


def _short(name: str) -> str:
    """The end of a path, which tells checkpoints apart."""
    parts = name.rstrip("/").split("/")
    return "/".join(parts[-2:])[-40:]


def _uncertain(dims: dict[str, float], errors: dict[str, float], how: str) -> str:
    error = f" ± {format_number(errors[how], 2)}" if errors[how] else ""
    return f"{format_number(dims[how])}{error}"


def _counts(counts: Counts, looked_at: int) -> list[str]:
    return [_count(counts[share], looked_at) for share in SHARES]


def _count(count: float, looked_at: int) -> str:
    return f">{looked_at:,}" if count == float("inf") else f"{float(f'{count:.3g}'):,.0f}"
