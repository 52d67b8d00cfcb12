"""A plan for a pretrained model in sentences, for a terminal and for a page."""

from __future__ import annotations

import math
from collections import Counter

from recallscope.common.formatting import format_duration
from recallscope.planning.in_words import (
    METHODS,
    PlanTable,
    PlanWords,
    counted,
    measured,
    says_nothing,
    short,
)
from recallscope.planning.teaching_plan import Reached, TeachingPlan
from recallscope.theory.law import LawKind
from recallscope.theory.pretrained import LORA_BITS, SIGMAS
from recallscope.theory.published_runs import Kept, fitted_runs
from recallscope.theory.question import Ends

_HALF = 0.5
_MANY, _ENOUGH = 5000, 64  # facts and a rank, of the sentence below
_OF_RANK = (
    "Rank also counts before it limits: of 5,000 to 20,000 facts, seen ten times and asked in "
    "other words, an 8B model recalled 0.53 at rank 8 and 0.74 to 0.75 at rank 64 (EnronQA, "
    "arXiv 2505.00263)."
)
_LAW = "recall = 1 / (1 + load^a + (Eh / E)^b)"
_CAPACITIES = {
    "lora": "Published capacities of adapters differ: "
    f"{LORA_BITS.low:g} to {LORA_BITS.high:g} bits for each parameter",
    "full": "Capacities are those published for training from scratch",
}


def teaching_words(plan: TeachingPlan) -> PlanWords:
    """All that is said of a plan."""
    return PlanWords(
        first=_first_line(plan),
        headline=_headline(plan),
        details=[
            *_probe(plan),
            *_recall(plan),
            *_facts(plan),
            _limit(plan),
            *_effect_of_rank(plan),
            *_forgotten(plan),
        ],
        advice=_advice(plan),
        tables=_tables(plan),
        sources=_sources(),
        verified=[],
    )


def _first_line(plan: TeachingPlan) -> str:
    runs = f"{len(fitted_runs())} published runs of pretrained models"
    if plan.probe is not None and plan.probe.half is not None:
        return f"From a probe of these facts on this model, and {runs}."
    if plan.extrapolated:
        return f"Extrapolated from {runs}: {'; '.join(plan.extrapolated)}."
    return f"From {runs}, which had such sizes."


def _headline(plan: TeachingPlan) -> str:
    inputs, half, nine = plan.inputs, plan.reached[0], _nine(plan)
    by = METHODS[inputs.method]
    if inputs.method == "lora":
        rank = f" of rank {inputs.rank}" if inputs.rank else ""
        where = ", ".join(inputs.modules) if inputs.question().partial else "all matrices"
        by += f"{rank} on {where}"
    asked = f"{inputs.facts:,} facts by {by}, {inputs.batch:,} in a batch"
    if not math.isfinite(half.exposures.value):
        return (
            f"{asked}: by the middle estimate of capacity most of them are never recalled, however "
            "often they are seen."
        )
    learned = f"one half are recalled after {counted(half.exposures)} exposures of each"
    if not math.isfinite(nine.exposures.value):
        return f"{asked}: {learned}, 0.9 never by the middle estimate of capacity."
    return (
        f"{asked}: {learned}, 0.9 after {counted(nine.exposures)}. That is {counted(half.steps)} "
        f"and {counted(nine.steps)} steps."
    )


def _nine(plan: TeachingPlan) -> Reached:
    return next(each for each in plan.reached if each.recall == 0.9)


def _probe(plan: TeachingPlan) -> list[str]:
    probe = plan.probe
    if probe is None:
        return []
    taught = (
        f"The probe taught {probe.facts:,} of these facts to this model in "
        f"{format_duration(probe.seconds)}, {probe.batch} in a batch"
    )
    if probe.half is None or probe.half_error is None:
        return [
            f"{taught}. It ended after {probe.exposures:.3g} exposures with {probe.recall:.2f} "
            "recalled, too early to say when one half will be. The numbers are those of the law; "
            "give it more --minutes."
        ]
    away = math.exp(SIGMAS * probe.half_error)
    half = Ends(probe.half, probe.half / away, probe.half * away)
    end = "" if probe.recall >= _HALF else f", by a curve that ended at {probe.recall:.2f}"
    return [f"{taught}: one half of the sample after {counted(half)} exposures{end}."]


def _recall(plan: TeachingPlan) -> list[str]:
    exposures, recall = plan.inputs.exposures, plan.recall
    if exposures is None or recall is None:
        return []
    after = f"After {exposures:,.3g} exposures"
    if says_nothing(recall):
        return [f"{after} recall cannot be said: estimates differ by more than one half."]
    return [f"{after}: recall {measured(recall)}."]


def _facts(plan: TeachingPlan) -> list[str]:
    given = plan.given
    if given is None:
        return []
    how = "by the tokenizer of the model" if given.counted else "as guessed from their words"
    return [
        f"{given.path.name} has {given.facts:,} facts with {given.answers:,} different answers of "
        f"{given.answer_tokens:.1f} tokens on average, {how}. The law does not count tokens: "
        "published runs do not state them."
    ]


def _limit(plan: TeachingPlan) -> str:
    inputs, room = plan.inputs, plan.limit_from
    facts = inputs.facts or 0
    if plan.rank is not None:
        rank = plan.rank
        needed = f"A rank of {rank.value:,.0f} has space for them by the middle estimate"
        if rank.value < rank.high:
            needed += f", {rank.high:,.0f} by the low one"
        return f"{needed}. {_CAPACITIES['lora']}."
    what = f"Rank {inputs.rank}" if inputs.method == "lora" else "The size of the model"
    if facts < room.low:
        likely = f"{what} does not limit recall here: it would"
    elif facts < room.value:
        likely = f"{what} may limit recall: it does"
    elif facts < room.high:
        likely = f"{what} is likely to limit recall: it does"
    else:
        likely = f"{what} limits recall: it does"
    return (
        f"{inputs.trained:,} parameters are trained. {likely} from about {counted(room)} such "
        f"facts on. {_CAPACITIES[inputs.method]}."
    )


def _effect_of_rank(plan: TeachingPlan) -> list[str]:
    inputs = plan.inputs
    few = inputs.method == "lora" and (inputs.rank or 1) < _ENOUGH
    return [_OF_RANK] if few and (inputs.facts or 0) >= _MANY else []


def _forgotten(plan: TeachingPlan) -> list[str]:
    by = METHODS[plan.inputs.method]
    if not plan.kept:
        return [f"Nothing is published on what {by} of such a size, with so many facts, forgets."]
    return [f"What was forgotten: {by} of such sizes {_kept(each)}." for each in plan.kept]


def _kept(kept: Kept) -> str:
    runs = f"{kept.runs} run{'s' if kept.runs > 1 else ''}, {kept.source}"
    low, high = f"{kept.low:.2f}", f"{kept.high:.2f}"
    part = low if low == high else f"{low} to {high}"
    if kept.low > 1:
        return f"made {kept.measure} {part} times as large ({runs})"
    return f"kept {part} of the score on {kept.measure} ({runs})"


def _advice(plan: TeachingPlan) -> str:
    nine, sentences = _nine(plan).exposures, []
    if math.isfinite(nine.high):
        sentences.append(
            f"To reach 0.9 by the high estimate too, train for {short(nine.high)} exposures, and "
            "stop when recall is enough."
        )
    else:
        sentences.append("By the low estimate of capacity no number of exposures reaches 0.9.")
    if plan.changes:
        best = min(plan.changes, key=lambda change: change.exposures)
        target = f"{plan.target:g} after {counted(best.exposures)} exposures"
        sentences.append(f"What helps: {best.change}, {target}.")
    if plan.probe is None:
        sentences.append(
            "How quickly facts are learned depends on them and on the learning rate, which each "
            "source had tuned: --probe teaches a sample of yours first."
        )
    return " ".join(sentences)


def _tables(plan: TeachingPlan) -> list[PlanTable]:
    rows = [
        [f"{each.recall:g}", counted(each.exposures), counted(each.steps)] for each in plan.reached
    ]
    tables = [PlanTable("Exposures and steps", ["recall", "exposures", "steps"], rows)]
    if plan.changes:
        rows = [
            [each.change, counted(each.exposures), "–" if each.cost is None else f"{each.cost:.2g}"]
            for each in plan.changes
        ]
        head = ["change", "exposures", "compute, times"]
        tables.append(PlanTable("What to change", head, rows))
    return tables


def _sources() -> list[str]:
    counts = Counter(str(run["source"]) for run in fitted_runs())
    runs = "; ".join(f"{source} ({count} runs)" for source, count in counts.items())
    return [
        f"Law of pretrained models, {LawKind.FITTED}: {_LAW}. E is the exposures, Eh those to one "
        f"half. Fitted to {runs}. Exposures were estimated from their files.",
        "Capacities of adapters: Nguyen, Capacity of a LoRA adapter (2026), and others, who "
        "differ from it by a factor of ten. Of whole models: Allen-Zhu and Li, arXiv 2404.05405, "
        "Nichani and others, arXiv 2412.06538, Morris and others, arXiv 2505.24832.",
    ]
