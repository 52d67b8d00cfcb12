"""What an audit says in sentences, the same in a terminal and on a page."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path

from recallscope.audits.facts import CAUSES, FIRST, MATTERS, MEMORIES, TREATMENTS, TableFacts
from recallscope.audits.used_rows import REASONS
from recallscope.theory.choosing import facts_extrapolated

_CALLED = {
    "mean": ("the mean that all rows share", "Subtract it"),
    "lengths": ("rows of unequal length", "Give all the same length after centring"),
    "spectrum": ("directions that vary unequally", "Whiten the rows"),
}
_WRITTEN = tomllib.loads(Path(__file__).with_name("sentences.toml").read_text(encoding="utf-8"))
FACT, HOW_GOOD, NOT_SAID = (
    " ".join(_WRITTEN[name].split()) for name in ("fact", "how_good", "not_said")
)


def headline(facts: TableFacts) -> str:
    """The first line: two numbers that are not the same."""
    counts = {memory: about(getattr(facts, memory)[FIRST], facts.looked_at) for memory in MEMORIES}
    return (
        f"One step of learning could store {counts['one_step']} facts in a matrix on these "
        f"embeddings, and training {counts['trained']} facts, {100 * FIRST:g} % of them recalled."
    )


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
    before = about(facts.one_step[FIRST], facts.looked_at)
    trained = (
        "Training corrects a mean and a spectrum by itself, and rows of unequal length unless they "
        "are answers. At its end the number of dimensions counts, "
        f"{dim} here: a wider table stores more, as its square."
    )
    if beyond := facts_extrapolated("trained", dim):
        trained += f" Its number is extrapolated: {beyond} that the law was tested at."
    lost, of = facts.unanswered
    if lost:
        trained += f" At most {lost} of {of} rows are means of others: no matrix answers them."
    if facts.bottleneck not in CAUSES:
        return [
            "What limits one step is the number of dimensions: rows overlap about as little as "
            "random ones do, and treating them helps little.",
            trained,
        ]
    (cause, deed), treatment = _CALLED[facts.bottleneck], CAUSES[facts.bottleneck]
    held = facts.treated[treatment][FIRST]
    after = about(held, facts.looked_at)
    whitened = facts.treated["whitened"][FIRST]
    further = (
        f"; whitened too, {about(whitened, facts.looked_at)}" if whitened > MATTERS * held else ""
    )
    return [
        f"What limits one step most is {cause}. {deed} where they are keys of such a memory: rows "
        f"{TREATMENTS[treatment]} could store {after} facts instead of {before}{further}. Do not "
        "do so in a pretrained model, as its layers were trained on its rows as they are.",
        trained,
    ]


def rows_left_out(rows: int, unused: Mapping[str, int], called_unused: int) -> str:
    """Which rows were not taken, and how they were recognised."""
    counts = [f"{count:,} {REASONS[reason]}" for reason, count in unused.items()]
    said = (
        f"Of {rows:,} rows {sum(unused.values()):,} are left out as unused: {', '.join(counts)}."
        if unused
        else f"All {rows:,} rows are taken: none is zero, not finite, equal to another, or on a "
        "line with many others."
    )
    if called_unused:
        said += (
            f" {called_unused:,} more have tokens with names such as [unused1], and are kept, as "
            "their rows look like others."
        )
    return said
