"""The lower bound is of the same order as what three steps of gradient descent need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from recallscope.common.formatting import format_range
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.problem.problem import Problem
from recallscope.statistics.intervals import Interval
from recallscope.theory.lower_bound import bound
from reproduction.analysis import grouped, powers
from reproduction.critical_sizes import CriticalSize
from reproduction.evidence import Evidence
from reproduction.intervals import extreme, factor, moved, shown
from reproduction.predictions import judged
from reproduction.series import measured_series
from reproduction.statement import Finding, Statement
from reproduction.sweeps import SizedSweep, searches

THREE_STEPS = SizedSweep(
    name="three-steps",
    first_seed=1_900_000,
    small=searches(
        together={
            "vocab": [64, 64, 64, 64, 128, 128, 128, 128],
            "dim": [24, 24, 43, 43, 37, 37, 66, 66],
            "length": [16, 48, 16, 48, 16, 48, 16, 48],
        },
        low=4,
        high=32_768,
        precision=0.2,
        budget=24,
    ),
    short=searches(
        together={
            "vocab": [128, 128, 128, 128, 256, 256, 256, 256],
            "dim": [37, 37, 66, 66, 56, 56, 100, 100],
            "length": [24, 96, 24, 96, 24, 96, 24, 96],
        },
        low=8,
        high=65_536,
        precision=0.15,
        budget=48,
    ),
    full=searches(
        together={
            "vocab": [256, 256, 256, 256, 512, 512, 512, 512, 1024, 1024, 1024, 1024],
            "dim": [56, 56, 100, 100, 84, 84, 150, 150, 125, 125, 223, 223],
            "length": [24, 96, 24, 96, 24, 96, 24, 96, 24, 96, 24, 96],
        },
        low=16,
        high=262_144,
        precision=0.1,
        budget=64,
    ),
)
"""Batches from which three steps recall half the facts, in the problems of the decoders."""

STATEMENT = Statement(
    name="tight",
    title="The lower bound is of the order of what gradient descent needs",
    statement=(
        "The lower bound for estimators that see the gradient at initialisation is of the "
        "same order as the training-set size that three-step gradient descent needs."
    ),
    source=(
        "Public reading notes on the paper, which call the bounds of one order; a public "
        "review calls the lower bound general but not very strong."
    ),
    support=(
        "N* of three steps over our bound lies between a third and three in all problems, "
        "and goes with d and L by an exponent of at most a quarter."
    ),
    contradict="A ratio outside of that range, or one that goes with d or L by more.",
    background=(
        "The three-step learner uses three gradients, and the bound is about the first. "
        "Whether both are of one order depends on how much the other two gradients add. "
        "The bound here is ours."
    ),
    plain=(
        "the least amount of data that one must have, by the bound, is about what training takes."
    ),
    practice=(
        "Do not take the lower bound for what training needs. Three steps need less, and "
        "the difference grows with the sequence length."
    ),
    caveat=(
        "The lower bound is ours, under an assumption of ours, for readers of the first "
        "gradient alone. What three steps need says nothing of the paper's bound."
    ),
    attack=(
        "The paper's bound is another one, so a verdict on ours says nothing of it. What is judged?"
    ),
    untestable="the paper's bound was not available. The numbers are of our bound.",
    sweeps=(THREE_STEPS,),
)


def analyse(evidence: Evidence) -> Finding:
    searches = evidence.critical_sizes(THREE_STEPS)
    ratios = [_over_bound(search, search.jointly) for search in searches]  # extremes of many
    smallest, largest = extreme(min, ratios), extreme(max, ratios)
    rows = [_row(search) for search in searches]
    by_length = {
        f"L = {length}": [(_sizes(search), _over_bound(search, search.shown)) for search in here]
        for length, here in grouped(searches, "length").items()
    }
    ratio = format_range(smallest.mean, largest.mean, 2)
    left = powers(rows, "dim", "length", "vocab")
    coverage = _coverage(searches)
    return Finding(
        statement=STATEMENT,
        judgements=judged(
            STATEMENT.name,
            {
                "smallest N* of three steps over the bound": smallest,
                "largest N* of three steps over the bound": largest,
                "power of d in three steps' N* over the bound": left["dim"],
                "power of L in three steps' N* over the bound": left["length"],
            },
        ),
        answer=(
            f"Three steps need {shown(smallest)} to {shown(largest)} of the training-set "
            "size that our bound requires of a reader of the first gradient. The ratio "
            f"goes as d^{shown(left['dim'])} · L^{shown(left['length'])} · "
            f"V^{shown(left['vocab'])}{left.note}. The bound does not apply to three "
            "steps: their second and third gradients see which position has the trigger. "
            "That is worth more, the longer the sequences."
        ),
        reply=(
            "Our bound is judged. A bound for all three gradients would be another one. "
            f"Coverage, a bound for every learner, is at {coverage} of what three steps "
            "need."
        ),
        picture=Picture(
            title=(
                f"Three steps need {ratio} of the samples of our bound, which is for one gradient"
            ),
            caption=(
                "Samples at which three steps recall half the facts, over our lower bound "
                "for readers of the first gradient. Bars are 95 %."
            ),
            panels=[
                Panel(
                    x="tokens V, dimensions d",
                    y="N* of three steps/bound",
                    log_y=True,
                    series=[
                        *(measured_series(*series) for series in by_length.items()),
                        Series(
                            "bound", Kind.REFERENCE, [*map(_sizes, searches)], [1.0] * len(rows)
                        ),
                    ],
                ),
            ],
        ),
        rows=rows,
    )


@cache
def _bound(problem: Problem, target: float) -> float:
    return bound(problem, target).samples


def _over_bound(search: CriticalSize, log_size: Interval) -> Interval:
    return factor(moved(log_size, -math.log(_bound(search.problem, search.target))))


def _row(search: CriticalSize) -> dict[str, Any]:
    """A critical size; a law is fitted to its ratio to the bound."""
    known = search.row(bound=_bound(search.problem, search.target))
    if known["log_mean"] is not None:
        known["log_mean"] -= math.log(known["bound"])
    return known


def _coverage(searches: Sequence[CriticalSize]) -> str:
    """The bound by facts never seen, over the measured size."""
    ratios = [
        search.problem.vocab * math.log(1 / (1 - search.target)) / math.exp(search.judged.mean)
        for search in searches
        if not math.isnan(search.judged.mean)
    ]
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "an unknown fraction"


def _sizes(search: CriticalSize) -> str:
    return f"{search.problem.vocab}, {search.problem.dim}"
