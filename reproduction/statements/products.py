"""Storage capacity depends on samples, dimensions and length in products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recallscope.plot.grouping import grouped_by
from recallscope.plot.panels import Panel, Picture
from recallscope.statistics.combining_power import Combination
from reproduction.analysis import combination, grouped, power_within, powers
from reproduction.critical_sizes import CriticalSize
from reproduction.evidence import Evidence
from reproduction.intervals import UNKNOWN, shown
from reproduction.predictions import judged
from reproduction.series import compared_with_theory, critical_series
from reproduction.statement import Finding, Statement
from reproduction.sweeps import SizedSweep, searches

RANDOM_LONG = SizedSweep(
    name="random-long",
    first_seed=0,
    small=searches(
        vocab=128,
        dim=[48, 72, 112],
        length=[32, 64, 96],
        low=8,
        high=32_768,
        precision=0.2,
        budget=24,
    ),
    short=searches(
        vocab=256,
        dim=[64, 80, 96, 128],
        length=[64, 96, 128, 192],
        low=16,
        high=65_536,
        precision=0.15,
        budget=48,
    ),
    full=searches(
        vocab=1024,
        dim=[160, 192, 240, 304, 384],
        length=[192, 256, 320, 384, 512],
        low=64,
        high=262_144,
        precision=0.1,
        budget=64,
    ),
)
"""Batches for half the facts, random embeddings, sequences so long that attention binds."""

RANDOM_HALF = SizedSweep(
    name="random-half",
    first_seed=1_400_000,
    small=searches(
        vocab=64,
        dim=[28, 40, 64],
        length=[24, 48, 96],
        low=8,
        high=32_768,
        precision=0.2,
        budget=24,
    ),
    short=searches(
        vocab=128,
        dim=[40, 56, 80, 112],
        length=[48, 72, 96, 144],
        low=8,
        high=65_536,
        precision=0.15,
        budget=48,
    ),
    full=searches(
        vocab=512,
        dim=[104, 140, 190, 256],
        length=[128, 208, 320, 512],
        low=64,
        high=262_144,
        precision=0.1,
        budget=64,
    ),
)
"""As random-long, with half the vocabulary."""

VOCAB_AND_LENGTH = SizedSweep(
    name="vocab-and-length",
    first_seed=1_500_000,
    small=searches(
        dim=72,
        vocab=[96, 128, 192],
        length=[32, 64, 96],
        low=8,
        high=32_768,
        precision=0.2,
        budget=24,
    ),
    short=searches(
        dim=96,
        vocab=[160, 208, 256, 320],
        length=[64, 96, 128, 192],
        low=16,
        high=65_536,
        precision=0.15,
        budget=48,
    ),
    full=searches(
        dim=256,
        vocab=[512, 704, 960, 1280],
        length=[128, 208, 320, 512],
        low=64,
        high=262_144,
        precision=0.05,
        budget=256,
    ),
)
"""Batches for half the facts over vocabulary and length, at one dimension."""

CAPACITY_FIRST_GRADIENT = SizedSweep(
    name="capacity-first-gradient",
    first_seed=400_000,
    small=searches(
        find="vocab",
        accuracy="first-gradient",
        samples=[2048, 4096, 8192],
        dim=[48, 64, 96],
        length=[8, 16, 32],
        low=4,
        high=4_096,
        precision=0.2,
        budget=20,
    ),
    short=searches(
        find="vocab",
        accuracy="first-gradient",
        samples=[4096, 8192, 16384],
        dim=[64, 96, 128],
        length=[16, 32, 64],
        low=4,
        high=4_096,
        precision=0.12,
        budget=40,
    ),
    full=searches(
        find="vocab",
        accuracy="first-gradient",
        samples=[4096, 8192, 16384, 32768],
        dim=[64, 96, 128, 192],
        length=[16, 32, 64, 128],
        low=4,
        high=4_096,
        precision=0.08,
        budget=64,
    ),
)
"""The most facts of which the first gradient alone tells half."""

STATEMENT = Statement(
    name="products",
    title="Capacity comes in products of N, d and L",
    statement=(
        "The number of samples N, the dimension d and the sequence length L (and V and m) "
        "enter the capacity in products, not as separate conditions."
    ),
    source=(
        "The abstract; public reading notes and an editorial digest say the same. None "
        "names exponents."
    ),
    support=(
        "N* combines d and L as f(d)·g(L), whatever f and g are, and not as a sum or a "
        "maximum. The exponent that combines them lies within a quarter of 0, at two "
        "vocabularies. For V and L it is nearer to a product than to a sum. N* falls with "
        "d and rises with L (exponents beyond a quarter either way). The capacity of the "
        "first-gradient readout depends on N and L only through N/L (exponent of L at "
        "equal N/L within 0.15 of zero). It grows with N/L (exponent above a quarter) and "
        "with d (above a half)."
    ),
    contradict=(
        "A combining exponent outside of those ranges; an exponent of d or L in N* within "
        "a quarter of zero, or of the other sign; a capacity that changes with L at equal "
        "N/L by an exponent of more than 0.15, or that grows less with N/L or d."
    ),
    background=(
        "Public summaries speak of products without naming exponents, so none is tested: "
        "the test is whether the sizes act together. If each size had a separate "
        "condition (enough samples, enough dimensions, short enough sequences), more data "
        "could not replace dimensions. In a product it can, at an exchange rate that can "
        'be measured: the exponents. Predictions call the first gradient "one step".'
    ),
    plain=(
        "more data can replace dimensions, and longer texts cost data; no single size "
        "decides how many facts are stored."
    ),
    practice=(
        "Where d² is above about 1.7 V ln V (for half of the facts after three steps), "
        "more data can replace dimensions, at the rate of the exponents above."
    ),
    attack=(
        "Exponents that differ from zero do not make a product: f(d) + g(L) and max(f, g) "
        "have them too. Are those excluded?"
    ),
    undecided=(
        "d and L combine in a product, as predicted. But for V and L a pure product is "
        "rejected, and d² must exceed about 1.7 V ln V whatever N: a condition of its "
        "own. V and m are not in these runs."
    ),
    sweeps=(
        RANDOM_LONG,
        RANDOM_HALF,
        VOCAB_AND_LENGTH,
        CAPACITY_FIRST_GRADIENT,
    ),
)


def analyse(evidence: Evidence) -> Finding:
    long = evidence.critical_sizes(RANDOM_LONG)
    first_gradient = evidence.critical_sizes(CAPACITY_FIRST_GRADIENT)
    batches = [search.row(recall=0.5) for search in long]
    stored = [search.row(ratio=_samples_over_length(search)) for search in first_gradient]
    combined = {
        "d and L in N*": combination(long, "dim", "length"),
        "d and L in N*, half the vocabulary": combination(
            evidence.critical_sizes(RANDOM_HALF), "dim", "length"
        ),
        "V and L in N*": combination(evidence.critical_sizes(VOCAB_AND_LENGTH), "vocab", "length"),
    }
    known = {which: fit for which, fit in combined.items() if fit is not None}
    lengths = grouped(long, "length")
    exponent = {which: UNKNOWN if fit is None else fit.power for which, fit in combined.items()}
    exponents = "; ".join(f"{shown(fit.power)} for {which}" for which, fit in known.items())
    needed = powers(batches, "dim", "length")
    capacity = powers(stored, "ratio", "dim")
    at_equal_ratio = power_within(_alike(first_gradient), "length")
    return Finding(
        statement=STATEMENT,
        judgements=judged(
            STATEMENT.name,
            {
                "combining power of d and L in N*": exponent["d and L in N*"],
                "combining power of d and L in N*, half the vocabulary": exponent[
                    "d and L in N*, half the vocabulary"
                ],
                "combining power of V and L in N*": exponent["V and L in N*"],
                "power of d in N*, three steps, long sequences": needed["dim"],
                "power of L in N*, three steps, long sequences": needed["length"],
                "power of N/L in the facts stored, one step": capacity["ratio"],
                "power of d in the facts stored, one step": capacity["dim"],
                "power of L in the facts stored at equal N/L, one step": at_equal_ratio,
            },
        ),
        answer=(
            "N* comes nearer to a product than to a sum or a maximum. The exponent that "
            f"combines them (0 is a product, 1 a sum) is {exponents}. After three steps on "
            f"long sequences, for half of the facts, N* ∝ d^{shown(needed['dim'])} · "
            f"L^{shown(needed['length'])}{needed.note}. For the facts stored in the "
            f"first-gradient readout, V* ∝ (N/L)^{shown(capacity['ratio'])} · "
            f"d^{shown(capacity['dim'])}{capacity.note}. At equal N/L and d, V* ∝ "
            f"L^{shown(at_equal_ratio)}."
        ),
        reply=_rivals(known),
        picture=Picture(
            caption=(
                "N* over d with closed forms (lines, nothing fitted), and facts stored over N/L. "
                "Points of a colour at one N/L differ in L: the closer they are, the less L "
                "matters otherwise. Bars are 95 %."
            ),
            panels=[
                Panel(
                    title="three steps: batch for half the facts",
                    x="d, dimensions",
                    y="N*, samples",
                    log_x=True,
                    log_y=True,
                    series=compared_with_theory(
                        {
                            f"L = {length}": lengths[length]
                            for length in (min(lengths), max(lengths))
                        }
                    ),
                ),
                Panel(
                    title="first gradient: facts of which half are right",
                    x="N/L, samples over length",
                    y="V*, facts",
                    log_x=True,
                    log_y=True,
                    series=[
                        critical_series(f"d = {dim}", searches, place, _samples_over_length)
                        for place, (dim, searches) in enumerate(
                            grouped(first_gradient, "dim").items()
                        )
                    ],
                ),
            ],
        ),
        rows=batches + stored,
    )


def _rivals(combined: Mapping[str, Combination]) -> str:
    """χ² of the rival laws, a sum and a maximum."""
    return " ".join(
        f"For {which}, f·g has χ² = {fit.product:.0f}, f + g {fit.sum:.0f} (both for "
        f"{fit.freedom} degrees of freedom) and max(f, g) {fit.maximum:.0f}, whatever f and g."
        for which, fit in combined.items()
    )


def _alike(searches: Sequence[CriticalSize]) -> list[list[CriticalSize]]:
    """Searches at equal d and equal N/L, where there are several."""
    groups = grouped_by(searches, lambda search: (search.problem.dim, _samples_over_length(search)))
    return [group for group in groups.values() if len(group) > 1]


def _samples_over_length(search: CriticalSize) -> float:
    return search.problem.samples / search.problem.length
