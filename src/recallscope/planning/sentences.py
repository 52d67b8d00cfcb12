"""A plan in sentences, for a terminal and for a page."""

from __future__ import annotations

from typing import NamedTuple

from recallscope.planning.inputs import Inputs
from recallscope.planning.plan import Plan
from recallscope.planning.solving import Solved
from recallscope.theory.question import Ends, Limit

LIMITS = {
    Limit.CAPACITY: "What limits recall is capacity: there are more facts than parameters hold.",
    Limit.EXPOSURES: "What limits recall is exposures: seen more often, these facts would fit.",
    Limit.ATTENTION: "What limits recall is attention, which does not find where the fact is.",
    Limit.UNSEEN: "What limits recall is that some facts are never seen.",
    Limit.NONE: "Nothing that the law knows of limits recall.",
}
_NOT_CALIBRATED = "not calibrated"


def first_line(found: Plan) -> str:
    """What the answer is worth, before any number."""
    if not found.laws:
        return f"No answer: {found.reason}."
    if found.status == "tested":
        return "Tested: experiments here had such sizes."
    said = "Extrapolated"
    if found.beyond > 1:
        said += f": {_factor(found.beyond)} times more parameters than anything tested here"
    if found.laws[0].kind == "published":
        said += ("; " if found.beyond > 1 else ": ") + "by values that others published"
    elif found.beyond <= 1:
        said += f": {'; '.join(found.laws[0].capacity.extrapolated)}"
    return f"{said}."


def headline(found: Plan) -> str:
    """The answer in one sentence."""
    if found.recall is None:
        return f"The nearest question that can be answered: {found.nearest}."
    recall = f"recall {interval(found.recall)}{_mark(found)}"
    if found.solved is not None:
        return f"{_solved(found.solved)} {_asked(found.inputs)}: {recall}."
    return f"{_asked(found.inputs)}: {recall}."


def details(found: Plan) -> list[str]:
    """What it comes from: parameters, bits, facts held, limit."""
    if not found.laws:
        return []
    inputs, question = found.inputs, found.inputs.question()
    whole = inputs.shape.parameters
    trained = f"{inputs.trained:,} parameters are trained"
    if inputs.method == "lora":
        trained += f", {100 * inputs.trained / whole:.2g} % of {whole:,}"
    limit = found.limit or Limit.NONE
    said = [
        f"{trained}. A fact takes {question.bits:.3g} bits: which of {question.answers:,} answers.",
        LIMITS[limit],
    ]
    facts = found.laws[0].capacity.facts
    if facts.value < float("inf"):
        said.insert(1, f"The model has space for about {_count(facts)} such facts.")
    if inputs.method in ("lora", "full"):
        said.append(
            "That facts fit does not say that fine-tuning learns them: no law of it exists here."
        )
    return said


def advice(found: Plan) -> str | None:
    """The change that helps most for its cost."""
    if not found.laws:
        return None
    if not found.levers:
        return "No change of rank, exposures or size raises recall by these laws."
    best = found.levers[0]
    return (
        f"What helps most for its cost: {best.change}, recall {interval(best.recall)} at "
        f"{best.cost:.2g} times the training compute."
    )


class PlanTable(NamedTuple):
    """A table of a plan, as texts."""

    title: str
    head: list[str]
    rows: list[list[str]]


def plan_tables(found: Plan) -> list[PlanTable]:
    """Changes, recall over the two best of them, and laws."""
    tables = []
    if found.levers:
        rows = [
            [each.change, _cell(each.recall), f"{each.cost:.2g}", f"{each.trained:.2g}"]
            for each in found.levers
        ]
        head = ["change", "recall", "compute, times", "parameters, times"]
        tables.append(PlanTable("What to change", head, rows))
    if found.table is not None:
        over = found.table
        columns = [f"{_spelt(over.columns)} {each:,g}" for each in over.column_values]
        rows = [
            [f"{value:,g}", *map(_cell, cells)]
            for value, cells in zip(over.row_values, over.recall, strict=True)
        ]
        title = f"Recall over {_spelt(over.rows)} and {_spelt(over.columns)}"
        tables.append(PlanTable(title, [_spelt(over.rows), *columns], rows))
    if found.laws:
        rows = [
            [each.law, each.kind, _cell(each.capacity.recall), each.capacity.said]
            for each in found.laws
        ]
        tables.append(PlanTable("Laws", ["law", "kind", "recall", "by"], rows))
    return tables


def _cell(ends: Ends) -> str:
    return f"{ends.value:.2f} ({ends.low:.2f}–{ends.high:.2f})"


def _spelt(name: str) -> str:
    return name.replace("_", "-")


def interval(ends: Ends) -> str:
    """A recall with its interval.

    >>> interval(Ends(0.5, 0.25, 1.0))
    '0.50 (0.25 to 1.00)'
    """
    return f"{ends.value:.2f} ({ends.low:.2f} to {ends.high:.2f})"


def _mark(found: Plan) -> str:
    return "" if found.laws[0].calibrated else f", {_NOT_CALIBRATED}"


def _solved(solved: Solved) -> str:
    name = solved.name.replace("_", "-")
    if solved.value is None:
        return f"No {name} reaches recall {solved.target:g}; nearest is {solved.closest:,}."
    ends = ("none" if end is None else f"{end:,}" for end in (solved.low, solved.high))
    what = "most" if solved.name == "facts" else "least"
    between = " to ".join(ends)
    return f"For recall {solved.target:g}: {name} = {solved.value:,} at {what} ({between})."


def _asked(inputs: Inputs) -> str:
    by = {"lora": f"LoRA of rank {inputs.rank}", "full": "full fine-tuning"}
    by |= {"pretrain": "training from scratch", "memory": "one memory over frozen embeddings"}
    seen = inputs.exposures or 0
    exposures = f"{seen:,.0f}" if seen >= 10 else f"{seen:.2g}"
    return f"{inputs.facts:,} facts by {by[inputs.method]}, each seen {exposures} times"


def _count(facts: Ends) -> str:
    value, low, high = (f"{float(f'{each:.2g}'):,.0f}" for each in facts)
    return f"{value} ({low} to {high})"


def _factor(times: float) -> str:
    return f"{float(f'{times:.2g}'):,g}" if times < 10 else f"{float(f'{times:.2g}'):,.0f}"
