"""A plan in sentences, for a terminal and for a page."""

from __future__ import annotations

from recallscope.planning.in_words import (
    METHODS,
    PlanTable,
    PlanWords,
    counted,
    factor,
    interval,
    question_in_words,
    says_nothing,
    short,
)
from recallscope.planning.plan_result import Plan
from recallscope.planning.solving import Solved
from recallscope.planning.verification import verification_lines
from recallscope.theory.law import LawKind
from recallscope.theory.question import Ends, Limit

_LIMITS = {
    Limit.CAPACITY: "What limits recall is capacity: there are more facts than parameters store.",
    Limit.EXPOSURES: (
        "What limits recall is exposures: seen more often, these facts would fit in the same "
        "parameters."
    ),
    Limit.ATTENTION: "What limits recall is attention, which does not find where the fact is.",
    Limit.UNSEEN: "What limits recall is that some facts are never seen.",
    Limit.NONE: "By the middle estimate all facts fit.",
}
_ABOUT_THE_SAME = 1.05
_ALL = 0.99


def plan_words(plan: Plan) -> PlanWords:
    """All that is said of a plan."""
    return PlanWords(
        first=first_line(plan),
        headline=headline(plan),
        details=details(plan),
        advice=advice(plan),
        tables=plan_tables(plan),
        sources=sources(plan),
        verified=verified(plan),
    )


def first_line(plan: Plan) -> str:
    """Return how far the answer can be trusted, before any number."""
    if not plan.laws:
        return f"No answer: {plan.reason}."
    if plan.status == "tested":
        return "Tested: experiments here had such sizes."
    law, method = plan.laws[0], plan.inputs.method
    sentence = "Extrapolated"
    if plan.beyond > 1:
        sentence += f": {factor(plan.beyond)} times more parameters than anything tested here"
    elif law.capacity.extrapolated:
        sentence += f": {'; '.join(law.capacity.extrapolated)}"
    if law.kind == LawKind.PUBLISHED:
        sentence += ". Published values answer, with their errors at small models"
        if method != "pretrain":
            sentence += f"; they are about training from scratch, not {METHODS[method]}"
    return f"{sentence}."


def headline(plan: Plan) -> str:
    """The answer in a sentence or two."""
    if plan.recall is None:
        return f"The nearest question with an answer: {plan.nearest}."
    recall = "recall could be" if plan.laws[0].kind == LawKind.PUBLISHED else "recall"
    answer = f"{question_in_words(plan.inputs)}: {recall} {interval(plan.recall)}."
    if says_nothing(plan.recall):
        answer = (
            f"{question_in_words(plan.inputs)}: no law can say yet how many will be recalled. "
            "Estimates differ by more than one half."
        )
    return answer if plan.solved is None else f"{_solved(plan.solved)} {answer}"


def details(plan: Plan) -> list[str]:
    """Return what it comes from: parameters, bits, facts that fit, limit."""
    if not plan.laws or plan.recall is None:
        return []
    inputs, question = plan.inputs, plan.inputs.question()
    trained = f"{inputs.trained:,} parameters are trained"
    if inputs.method == "lora":
        whole = inputs.shape.parameters
        trained += f", {100 * inputs.trained / whole:.2g} % of {whole:,}"
    sentences = [
        f"{trained}. A fact takes {question.bits:.3g} bits: which of {question.answers:,} answers."
    ]
    facts = plan.laws[0].capacity.facts
    if facts.value < float("inf"):
        what = "adapter" if inputs.method == "lora" else "model"
        sentences.append(f"The {what} could store about {counted(facts)} such facts.")
        if inputs.zipf_exponent and facts.value < question.facts:
            lost = 1 - facts.value / question.facts
            sentences.append(
                f"The rarest facts are lost: those from about rank {short(facts.value)} on, "
                f"{100 * lost:.0f} % of all, which make up {100 * (1 - plan.recall.value):.2g} % "
                "of what is asked."
            )
    if (needed := plan.laws[0].capacity.exposures) is not None:
        sentences.append(
            f"Adam on all facts at once takes about {counted(needed)} exposures of each fact to "
            "recall 0.9 of them; the nearer to capacity, the more."
        )
    limit = _LIMITS[plan.limit or Limit.NONE]
    if plan.limit is Limit.NONE and plan.recall.low < _ALL:
        limit = f"{limit[:-1]}; by the low one {100 * plan.recall.low:.0f} % of them do."
    sentences.append(limit)
    if says_nothing(plan.recall) and plan.verification is None:
        sentences.append(
            "To know more: --verify trains a small one on this machine, --export FILE writes the "
            "run at full size, --json has all numbers."
        )
    return sentences


def advice(plan: Plan) -> str | None:
    """The change that helps most for its cost."""
    if not plan.laws:
        return None
    if not plan.levers:
        return "No change that plan considers raises these estimates."
    best = plan.levers[0]
    same = best.cost < _ABOUT_THE_SAME
    cost = "the same training compute" if same else f"{best.cost:.2g} times the training compute"
    recall = "" if says_nothing(best.recall) else f"recall {interval(best.recall)} "
    return (
        f"What helps most for its compute, by the mean of the three estimates: {best.change}, "
        f"{recall}at {cost}."
    )


def plan_tables(plan: Plan) -> list[PlanTable]:
    """Changes, and recall over the two best of them if it is known anywhere."""
    tables = []
    if plan.levers:
        rows = [
            [lever.change, _cell(lever.recall), f"{lever.cost:.2g}", f"{lever.trained:.2g}"]
            for lever in plan.levers
        ]
        head = ["change", "recall", "compute, times", "parameters, times"]
        tables.append(PlanTable("What to change", head, rows))
    over = plan.table
    if over is not None and not all(says_nothing(recall) for row in over.recall for recall in row):
        columns = [f"{_spelt(over.columns)} {size:,g}" for size in over.column_values]
        rows = [
            [f"{value:,g}", *map(_cell, cells)]
            for value, cells in zip(over.row_values, over.recall, strict=True)
        ]
        title = f"Recall over {_spelt(over.rows)} and {_spelt(over.columns)}"
        tables.append(PlanTable(title, [_spelt(over.rows), *columns], rows))
    return tables


def verified(plan: Plan) -> list[str]:
    """What a scaled-down model that was trained says of the plan; or why none was."""
    if plan.verification is not None:
        return verification_lines(plan.verification, plan.inputs)
    return [] if plan.unverified is None else [f"Not verified: {plan.unverified}."]


def sources(plan: Plan) -> list[str]:
    """Each law that answers: its kind, its numbers, where it is from, and what is unlike it."""
    lines = []
    for law in plan.laws:
        unlike = "; ".join(law.capacity.extrapolated)
        lines.append(
            f"Law {law.law}, {law.kind}: recall {interval(law.capacity.recall)}, by "
            f"{law.capacity.said}. {law.origin}" + (f" Unlike it here: {unlike}." if unlike else "")
        )
    return lines


def _cell(ends: Ends) -> str:
    if says_nothing(ends):
        return "unknown"
    return f"{ends.value:.2f} ({ends.low:.2f}–{ends.high:.2f})"


def _spelt(name: str) -> str:
    return name.replace("_", "-")


def _solved(solved: Solved) -> str:
    name = _spelt(solved.name)
    target = f"recall {solved.target:g}"
    if solved.value is None:
        return f"No {name} reaches {target}; nearest is {solved.closest:,}."
    low, high = ("none" if end is None else short(end) for end in (solved.low, solved.high))
    if solved.name == "facts":
        sizes = f"{short(solved.value)} at most by the middle estimate, {low} by the low one"
        return f"Facts for {target}: {sizes}, {high} by the high one."
    sizes = f"{short(solved.value)} at least by the middle estimate, {high} by the low one"
    return f"{name.capitalize()} for {target}: {sizes}, {low} by the high one."
