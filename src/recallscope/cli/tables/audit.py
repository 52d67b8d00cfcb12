"""What `recallscope audit` prints."""

from __future__ import annotations

from recallscope.audits.audit import Audit, CheckpointAudit
from recallscope.audits.sentences import (
    FACT,
    HOW_GOOD,
    NOT_SAID,
    headline,
    rows_left_out,
    to_do,
)
from recallscope.audits.summary_tables import (
    COMPARED,
    SHARE_NAMES,
    comparison_table,
    facts_table,
    measured_table,
    statistics_table,
    worst_tokens,
)
from recallscope.cli.tables.output import print_table
from recallscope.common.formatting import printable

_MOST_LISTED = 5  # tokens in a line


def print_audit(found: Audit) -> None:
    if len(found.checkpoints) > 1:
        print_table(COMPARED, comparison_table(found), slice(2, None))
        for each in found.checkpoints[: 2 * (len(found.checkpoints) == 2)]:
            print(f"{printable(each.name)}: {headline(each.facts)}")
    else:
        _print_one(found.checkpoints[0])
    print(NOT_SAID)


def _print_one(found: CheckpointAudit) -> None:
    print(headline(found.facts))
    for sentence in to_do(found.facts, found.tables[0].dim):
        print(sentence)
    print_table(("facts, by the share recalled", *SHARE_NAMES), facts_table(found))
    print(FACT)
    print(HOW_GOOD)
    if found.measured:
        print_table(("experiments on rows of it", *SHARE_NAMES), measured_table(found))
    head = [f"{table.name} ({table.role})" for table in found.tables]
    print_table(("", *head), statistics_table(list(found.tables)))
    for table in found.tables:
        print(rows_left_out(table.rows, table.unused, table.called_unused))
        for called, listed in worst_tokens(table):
            tokens = ", ".join(f"{token} {value}" for token, value in listed[:_MOST_LISTED])
            print(f"{table.role}, {called}: {tokens}")
