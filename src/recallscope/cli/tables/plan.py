"""A plan, as sentences and tables."""

from __future__ import annotations

from recallscope.cli.tables.output import print_table, say
from recallscope.planning.plan import Plan
from recallscope.planning.sentences import (
    advice,
    details,
    first_line,
    headline,
    plan_tables,
    sources,
)


def print_plan(found: Plan) -> None:
    say(first_line(found), headline(found), *details(found), advice(found))
    for each in plan_tables(found):
        print_table(each.head, each.rows)
    say(*sources(found))
