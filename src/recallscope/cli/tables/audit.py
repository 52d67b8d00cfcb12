"""What `recallscope audit` prints."""

from __future__ import annotations

from recallscope.audits import sentences, summary_tables
from recallscope.audits.audit import Audit, CheckpointAudit
from recallscope.cli.tables.output import print_table
from recallscope.common.formatting import printable

_MOST_LISTED = 5  # tokens in a line


def print_audit(found: Audit) -> None:
    if len(found.checkpoints) > 1:
        print_table(summary_tables.COMPARED, summary_tables.comparison_table(found), slice(2, None))
        for each in found.checkpoints[: 2 * (len(found.checkpoints) == 2)]:
            print(f"{printable(each.name)}: {sentences.headline(each.facts)}")
    else:
        _print_one(found.checkpoints[0])
    print(sentences.NOT_SAID)


def _print_one(found: CheckpointAudit) -> None:
    print(sentences.headline(found.facts))
    for sentence in sentences.to_do(found.facts, found.tables[0].dim):
        print(sentence)
    print_table(
        ("facts, by the share recalled", *summary_tables.SHARE_NAMES),
        summary_tables.facts_table(found),
    )
    print(sentences.FACT)
    print(sentences.HOW_GOOD)
    if found.measured:
        print_table(
            ("experiments on rows of it", *summary_tables.SHARE_NAMES),
            summary_tables.measured_table(found),
        )
    head = [f"{table.name} ({table.role})" for table in found.tables]
    print_table(("", *head), summary_tables.statistics_table(list(found.tables)))
    for table in found.tables:
        print(sentences.rows_left_out(table.rows, table.unused, table.called_unused))
        for called, listed in summary_tables.worst_tokens(table):
            tokens = ", ".join(f"{token} {value}" for token, value in listed[:_MOST_LISTED])
            print(f"{table.role}, {called}: {tokens}")
