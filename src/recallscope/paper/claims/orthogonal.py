"""Orthogonal embeddings make the factors separable and promise too much at d < V."""

from __future__ import annotations

from recallscope.paper.analysis import (
    average,
    critical_series,
    factor,
    grouped,
    law,
    log_size,
    minus,
    over_dimensions,
    powers,
    row,
    shown,
)
from recallscope.paper.claim import Claim, Finding
from recallscope.paper.evidence import Evidence
from recallscope.paper.verdict import judge
from recallscope.plotting.panels import Picture

_FLAT = 0.1


def analyse(evidence: Evidence) -> Finding:
    random = evidence.searches("random-long")
    orthogonal = evidence.searches("orthogonal")
    rows = {
        "random": [row(search, embedding="random") for search in random],
        "orthogonal": [row(search, embedding="orthogonal") for search in orthogonal],
    }
    found = {name: powers(law(each, ["dim", "length"])) for name, each in rows.items()}
    over = factor(minus(*(average([log_size(s) for s in each]) for each in (random, orthogonal))))
    judgements = [
        judge(
            "orthogonal: power of d in N*", found["orthogonal"]["dim"], above=-_FLAT, below=_FLAT
        ),
        judge(
            "orthogonal: power of L in N*", found["orthogonal"]["length"], above=-_FLAT, below=_FLAT
        ),
        judge("random: power of d in N*", found["random"]["dim"], below=-0.25),
        judge("random: power of L in N*", found["random"]["length"], above=0.25),
        judge("N* of random over orthogonal embeddings, mean over the grid", over, above=1.25),
    ]
    panels = []
    for name, searches in (("random", random), ("orthogonal", orthogonal)):
        lengths = grouped(searches, "length")
        panels.append(
            over_dimensions(
                f"{name} embeddings",
                [critical_series(f"L = {length}", lengths[length], "dim") for length in lengths],
            )
        )
    return Finding(
        judgements=judgements,
        answer=(
            f"Random embeddings need {shown(over)} times the samples of orthogonal ones. Over "
            f"orthogonal embeddings N* ∝ d^{shown(found['orthogonal']['dim'])} · "
            f"L^{shown(found['orthogonal']['length'])}. Over random ones, at fewer dimensions than "
            f"tokens, N* ∝ d^{shown(found['random']['dim'])} · "
            f"L^{shown(found['random']['length'])}."
        ),
        picture=Picture(
            caption="The same task and lengths. Random embeddings have fewer dimensions than "
            "tokens; orthogonal ones cannot. Bars are 95 %.",
            panels=panels,
        ),
        rows=rows["random"] + rows["orthogonal"],
    )


CLAIM = Claim(
    name="orthogonal",
    title="Orthogonal embeddings mislead",
    statement="With orthogonal embeddings the sizes separate: the batch needed depends on neither "
    "dimension nor length. Taken over to fewer dimensions than tokens, this promises a capacity "
    "that random embeddings do not have.",
    support=f"Orthogonal: powers of d and L in N* within {_FLAT:g} of zero. Random, at d < V: "
    "powers beyond a quarter, and on average over the grid at least 1.25 times as many samples "
    "as with orthogonal embeddings at the same lengths.",
    contradict="An orthogonal power outside that range, a random one inside a quarter, or random "
    "embeddings that need less than 1.25 times the samples.",
    background="Much theory of associative memory assumes orthogonal embeddings, which need more "
    "dimensions than tokens. Real models have far fewer, so their embeddings overlap.",
    sweeps=("random-long", "orthogonal"),
    analyse=analyse,
    plain="models in which no two tokens overlap look better than real ones are, so a rule made "
    "for them promises too much.",
    caveat="The factor between random and orthogonal embeddings is taken at unequal dimensions: "
    "orthogonal ones need d ≥ V + 1, and the random ones have d < V.",
)
