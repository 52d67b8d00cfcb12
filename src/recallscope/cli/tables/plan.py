"""A plan, as sentences and tables."""

from __future__ import annotations

from recallscope.cli.tables.output import print_table, say
from recallscope.planning import sentences
from recallscope.planning.plan import Plan


def print_plan(found: Plan) -> None:
    say(
        sentences.first_line(found),
        sentences.headline(found),
        *sentences.details(found),
        sentences.advice(found),
    )
    for each in sentences.plan_tables(found):
        print_table(each.head, each.rows)
    say(*sentences.sources(found))
