"""`recallscope audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.cli.options import Asked, takes
from recallscope.cli.output import print_table
from recallscope.cli.progress import ProgressDisplay
from recallscope.common.formatting import printable

if TYPE_CHECKING:
    from recallscope.audits.audit import Audit, CheckpointAudit

_MOST_LISTED = 5  # tokens in a line


@takes("output", "audit")
def audit(asked: Asked, what: list[str], page: str | None) -> None:
    """Report how many facts the embedding matrix of a checkpoint can store.

    It detects the matrices. Several files are compared, and a folder of checkpoints along a
    training gives a curve. No code of a file is run.

    \b
    Examples:
      recallscope audit model.safetensors --page audit.html
      recallscope audit ~/models/my-model
      recallscope audit before.gguf after.gguf --json
      recallscope audit rows.npy --tokens words.txt --measure
    """
    # Loads numpy, which the list of commands does without.
    from recallscope.api.audit import audit as look
    from recallscope.plotting.pages import check_page

    path = None if page is None else check_page(page)
    with ProgressDisplay("audit") as display:
        found = look(*what, **asked.audit, progress=display.update)
    if path is not None:
        found.write_page(path)
    asked.output.show(found, _print_audit)


def _print_audit(found: Audit) -> None:
    from recallscope.audits import sentences, summary_tables

    if len(found.checkpoints) > 1:
        print_table(summary_tables.COMPARED, summary_tables.comparison_table(found), slice(2, None))
        for each in found.checkpoints[: 2 * (len(found.checkpoints) == 2)]:
            print(f"{printable(each.name)}: {sentences.headline(each.facts)}")
    else:
        _print_one(found.checkpoints[0])
    print(sentences.NOT_SAID)


def _print_one(found: CheckpointAudit) -> None:
    from recallscope.audits import sentences, summary_tables

    print(sentences.headline(found.facts))
    for sentence in sentences.to_do(found.facts, found.tables[0].dim):
        print(sentence)
    print_table(
        ("facts, by the fraction recalled", *summary_tables.SHARE_NAMES),
        summary_tables.facts_table(found),
    )
    print(sentences.FACT)
    print(sentences.HOW_GOOD)
    if found.measured:
        print_table(
            ("experiments on its rows", *summary_tables.SHARE_NAMES),
            summary_tables.measured_table(found),
        )
    head = [f"{table.name} ({table.role})" for table in found.tables]
    print_table(("", *head), summary_tables.statistics_table(list(found.tables)))
    for table in found.tables:
        print(sentences.rows_left_out(table.rows, table.unused, table.called_unused))
        for called, listed in summary_tables.worst_tokens(table):
            tokens = ", ".join(f"{token} {value}" for token, value in listed[:_MOST_LISTED])
            print(f"{table.role}, {called}: {tokens}")
