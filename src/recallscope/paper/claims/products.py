"""Storage capacity depends on samples, dimensions and length in products."""

from __future__ import annotations

from collections.abc import Sequence

from recallscope.common.formatting import format_number
from recallscope.measurement.critical import CriticalSearch
from recallscope.paper.analysis import (
    critical_series,
    grouped,
    law,
    over_dimensions,
    poor_fit_note,
    power_within,
    powers,
    row,
    shown,
    theory_series,
)
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.verdict import judge
from recallscope.plotting.panels import Panel, Picture


def analyse(evidence: Evidence) -> Finding:
    long = evidence.searches("random-long")
    one_step = evidence.searches("capacity-one-step")
    batches = [row(search, recall=0.5) for search in long]
    stored = [row(search, ratio=_samples_over_length(search)) for search in one_step]
    batch_law, stored_law = law(batches, ["dim", "length"]), law(stored, ["ratio", "dim"])
    needed, capacity = powers(batch_law), powers(stored_law)
    at_equal_ratio = power_within(_alike(one_step), "length")
    judgements = [
        judge("power of d in N*, three steps, long sequences", needed["dim"], below=-0.25),
        judge("power of L in N*, three steps, long sequences", needed["length"], above=0.25),
        judge("power of N/L in the facts stored, one step", capacity["ratio"], above=0.25),
        judge("power of d in the facts stored, one step", capacity["dim"], above=0.5),
        judge(
            "power of L in the facts stored at equal N/L, one step",
            at_equal_ratio,
            above=-0.15,
            below=0.15,
        ),
    ]
    lengths = grouped(long, "length")
    panels = [
        over_dimensions(
            "three steps: batch for half the facts",
            [
                part
                for place, length in enumerate((min(lengths), max(lengths)))
                for part in (
                    critical_series(f"L = {length}", lengths[length], "dim", place),
                    theory_series(f"closed forms, L = {length}", lengths[length], "dim", place),
                )
            ],
        ),
        Panel(
            title="one step: facts of which half are right",
            x="N/L, samples over length",
            y="V*, facts",
            log_x=True,
            log_y=True,
            series=[
                critical_series(f"d = {dim}", searches, _samples_over_length, place)
                for place, (dim, searches) in enumerate(grouped(one_step, "dim").items())
            ],
        ),
    ]
    rival = batch_law.separable
    p_value = "unknown" if rival is None else format_number(rival.p_value, 1)
    return Finding(
        judgements=judgements,
        answer=(
            f"The batch needed: N* ∝ d^{shown(needed['dim'])} · L^{shown(needed['length'])}. This "
            "is after three steps on long sequences, for half of the facts"
            f"{poor_fit_note(batch_law)}; that N* depends on neither is rejected with "
            f"p = {p_value}. The facts stored, read from the first gradient: "
            f"V* ∝ (N/L)^{shown(capacity['ratio'])} · d^{shown(capacity['dim'])}"
            f"{poor_fit_note(stored_law)}; at equal N/L and d, they go as "
            f"L^{shown(at_equal_ratio)}."
        ),
        picture=Picture(
            caption="Left: the critical sample size over d, for the shortest and the longest of "
            "the long sequences; lines are closed forms with nothing fitted. Right: facts stored "
            "over N/L. Several points of a colour above one another have the same N/L and "
            "different L: the closer they lie, the less L matters but through N/L. Bars are 95 %.",
            panels=panels,
        ),
        rows=batches + stored,
    )


def _alike(searches: Sequence[CriticalSearch]) -> list[list[CriticalSearch]]:
    """Searches at equal d and equal N/L, where there are several."""
    groups: dict[tuple[int, float], list[CriticalSearch]] = {}
    for search in searches:
        key = (search.problem.dim, _samples_over_length(search))
        groups.setdefault(key, []).append(search)
    return [group for group in groups.values() if len(group) > 1]


def _samples_over_length(search: CriticalSearch) -> float:
    return search.problem.samples / search.problem.length


CLAIM = Claim(
    name="products",
    title="Capacity comes in products of N, d and L",
    statement="Under random embeddings, how much a transformer can store depends on the number of "
    "samples N, the dimension d and the sequence length L through products of them, not through a "
    "condition on each alone.",
    support="The critical sample size N* falls with d and rises with L over the same grid (powers "
    "beyond a quarter either way), and the capacity read from the first gradient depends on N and "
    "L only through N/L (power of L at equal N/L within 0.15 of zero), growing with N/L (power "
    "above a quarter) and with d (above a half).",
    contradict="A power of d or L in N* that lies inside a quarter of zero, or on the other "
    "side of it; or a capacity that changes with L at equal N/L by more than a power of 0.15, or "
    "grows less with N/L or d.",
    background="Public summaries speak of products without naming powers, so none is tested: only "
    "that the sizes act together. If each size had a condition of its own (enough samples, enough "
    "dimensions, short enough sequences), one could not make up for few dimensions with more data. "
    "A product means that one can, at an exchange rate that can be measured: the powers.",
    sweeps=("random-long", "capacity-one-step"),
    analyse=analyse,
    plain="fewer dimensions can be made up for with more data, and longer texts cost data; no "
    "size decides alone how many facts are kept.",
)
