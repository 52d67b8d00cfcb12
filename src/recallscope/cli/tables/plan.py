"""A plan, as sentences and tables."""

from __future__ import annotations

from recallscope.cli.tables.output import print_table, say
from recallscope.planning.plan import Plan
from recallscope.planning.sentences import advice, details, first_line, headline, plan_tables


def print_plan(found: Plan) -> None:
    say(first_line(found), headline(found), *details(found), advice(found))
    for each in plan_tables(found):
        print_table(each.head, each.rows)
    say(*(law.origin for law in found.laws))
    for law in found.laws[:1]:
        say(
            law.capacity.extrapolated and f"Unlike it here: {'; '.join(law.capacity.extrapolated)}."
        )
