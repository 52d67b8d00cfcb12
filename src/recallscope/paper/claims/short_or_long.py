"""Short sequences allow dense storage and few samples together; long ones force a choice."""

from __future__ import annotations

import math

from recallscope.paper.analysis import (
    batches_by_length,
    critical_series,
    factor,
    log_size,
    moved,
    row,
    shown,
)
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.verdict import judge
from recallscope.plotting.panels import Kind, Panel, Picture, Series


def analyse(evidence: Evidence) -> Finding:
    lengths = batches_by_length(evidence)
    short, long = lengths[min(lengths)], lengths[max(lengths)]
    vocab = short[0].problem.vocab
    few = vocab * math.log(vocab)
    small_short, small_long, large_long = (
        factor(moved(log_size(end(each, key=lambda s: s.problem.dim)), -math.log(few)))
        for end, each in ((min, short), (min, long), (max, long))
    )
    judgements = [
        judge("N* over V log V: small d, short sequences", small_short, below=1.0),
        judge("N* over V log V: small d, long sequences", small_long, above=1.0),
        judge("N* over V log V: large d, long sequences", large_long, below=1.0),
    ]
    series = []
    for place, (length, searches) in enumerate(lengths.items()):
        if length not in (min(lengths), max(lengths)) and place % 2:
            continue  # every other length is enough to see it
        series.append(
            critical_series(f"L = {length}", searches, lambda s: s.problem.vocab / s.problem.dim**2)
        )
    ends = [vocab / search.problem.dim**2 for search in short]
    series.append(
        Series(
            label="V log V",
            kind=Kind.REFERENCE,
            x=[min(ends), max(ends)],
            y=[few, few],
        )
    )
    return Finding(
        judgements=judgements,
        answer=(
            f"In units of V log V samples, the smallest dimension needs {shown(small_short)} for "
            f"short sequences and {shown(small_long)} for long ones. The smallest dimension is the "
            f"densest storage, and V log V is {few:,.0f}. With the largest dimension, long "
            f"sequences come down to {shown(large_long)}."
        ),
        picture=Picture(
            caption="To the right, facts are stored more densely; upwards, more samples are "
            "needed: at the lower right, both are had at once. V log V is the batch in which "
            "nearly every fact has been seen. Bars are 95 %.",
            panels=[
                Panel(
                    title=f"half of {vocab} facts",
                    x="V/d², facts per parameter",
                    y="N*, samples",
                    log_x=True,
                    log_y=True,
                    series=series,
                )
            ],
        ),
        rows=[row(search) for searches in lengths.values() for search in searches],
    )


CLAIM = Claim(
    name="short-or-long",
    title="Short sequences have both, long ones must choose",
    statement="With short sequences dense storage and a small batch go together. With long ones "
    "there is a choice: more dimensions, so fewer facts per parameter, or more samples.",
    support="At the smallest dimension, V log V samples are enough for short sequences and not "
    "enough for long ones; at the largest dimension they are enough for long ones too.",
    contradict="Any of the three the other way round.",
    background="V log V samples are about what it takes to see every fact once, whatever the "
    "model, so it is a natural measure of a small batch. The grid's smallest dimension "
    "stores several times as many facts per parameter as its largest.",
    sweeps=("random-short", "random-long"),
    analyse=analyse,
    plain="with short texts a small model learns from little data; with long texts one must make "
    "the model larger or find more examples.",
)
