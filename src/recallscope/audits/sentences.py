"""What an audit says in sentences, the same in a terminal and on a page."""

from __future__ import annotations

import math
from collections.abc import Mapping

from recallscope.audits.facts import CAUSES, FIRST, MATTERS, MEMORIES, TREATMENTS, TableFacts
from recallscope.audits.used_rows import REASONS
from recallscope.parts.data_files import data_next_to, sentences_next_to
from recallscope.theory.choosing import facts_extrapolated

_CALLED = data_next_to(__file__, "words.toml")["causes"]
SAID = sentences_next_to(__file__, "sentences.toml")
FACT, HOW_GOOD, NOT_SAID = SAID["fact"], SAID["how_good"], SAID["not_said"]


def headline(facts: TableFacts) -> str:
    """The first line: two numbers that are not the same."""
    counts = {memory: about(getattr(facts, memory)[FIRST], facts.looked_at) for memory in MEMORIES}
    return SAID["headline"].format(**counts, share=100 * FIRST)


def about(count: float, looked_at: int) -> str:
    """A number of facts to two digits, which is as good as predictions are.

    >>> about(12_345, 100), about(3.2, 100), about(float("inf"), 8192)
    ('about 12,000', 'about 3', 'more than 8,192')
    """
    if math.isinf(count):
        return f"more than {looked_at:,}"
    return f"about {float(f'{count:.2g}'):,.0f}"


def to_do(facts: TableFacts, dim: int) -> list[str]:
    """What limits each of the two, and what can be done about it."""
    trained = [SAID["trained"].format(dim=dim)]
    if beyond := facts_extrapolated("trained", dim):
        trained.append(SAID["extrapolated"].format(beyond=beyond))
    lost, of = facts.unanswered
    if lost:
        trained.append(SAID["unanswered"].format(lost=lost, of=of))
    if facts.bottleneck not in CAUSES:
        return [SAID["by_dimension"], " ".join(trained)]
    (cause, deed), treatment = _CALLED[facts.bottleneck], CAUSES[facts.bottleneck]
    held, whitened = facts.treated[treatment][FIRST], facts.treated["whitened"][FIRST]
    further = (
        f"; whitened too, {about(whitened, facts.looked_at)}" if whitened > MATTERS * held else ""
    )
    step = SAID["by_cause"].format(
        cause=cause,
        deed=deed,
        treated=TREATMENTS[treatment],
        after=about(held, facts.looked_at),
        before=about(facts.one_step[FIRST], facts.looked_at),
        further=further,
    )
    return [step, " ".join(trained)]


def rows_left_out(rows: int, unused: Mapping[str, int], called_unused: int) -> str:
    """Which rows were not taken, and how they were recognised."""
    counts = ", ".join(f"{count:,} {REASONS[reason]}" for reason, count in unused.items())
    taken = SAID["left_out" if unused else "all_taken"]
    said = taken.format(rows=rows, unused=sum(unused.values()), counts=counts)
    if called_unused:
        said += " " + SAID["called_unused"].format(called_unused=called_unused)
    return said
