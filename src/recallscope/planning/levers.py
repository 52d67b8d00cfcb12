"""Levers: the effect of each change on recall, and its cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from recallscope.planning.asking import ask
from recallscope.planning.inputs import ALL, Inputs
from recallscope.theory.question import Ends

_TIMES = (1, 2, 4)
_WORDS = {
    "rank": "a rank of {:,.0f}",
    "exposures": "{:,.0f} exposures of each fact",
    "d_model": "a dimension of {:,.0f}",
}
_SETTLED = 0.005  # of recall: less is no gain


@dataclass(frozen=True, kw_only=True)
class Lever:
    """One change: the recall after it, and what training then costs, next to now.

    Attributes:
        name: rank, exposures, d_model or target_modules.
        change: in words.
        recall: after it, with an interval.
        gain: in the middle of the interval, which moves where the value is 1 already.
        cost: floating-point operations of training, as a factor.
        trained: trained parameters, as a factor.
    """

    name: str
    change: str
    recall: Ends
    gain: float
    cost: float
    trained: float


@dataclass(frozen=True, kw_only=True)
class LeverTable:
    """Recall over two levers: a row for each value of the first, a column for each of the other."""

    rows: str
    columns: str
    row_values: list[float]
    column_values: list[float]
    recall: list[list[Ends]]


def levers(inputs: Inputs) -> list[Lever]:
    """Every change that raises recall, the most for its cost first."""
    now = ask(inputs)[0].capacity.recall
    helpful = []
    for name, change, after in _changes(inputs):
        recall = ask(after)[0].capacity.recall if ask(after) else now
        helpful.append(
            Lever(
                name=name,
                change=change,
                recall=recall,
                gain=_middle(recall) - _middle(now),
                cost=after.flops / inputs.flops,
                trained=after.trained / inputs.trained,
            )
        )
    return sorted(
        (lever for lever in helpful if lever.gain > _SETTLED),
        key=lambda lever: -lever.gain / max(lever.cost, 1.0),
    )


def lever_table(inputs: Inputs, helping: list[Lever]) -> LeverTable | None:
    """Recall over the two levers that help most for their cost; None if there are not two."""
    numeric = [lever.name for lever in helping if lever.name in _WORDS]
    if len(numeric) < 2:
        return None
    first, second = numeric[:2]
    values = {
        name: [times * (inputs.value(name) or 0.0) for times in _TIMES] for name in (first, second)
    }
    recall = []
    for row in values[first]:
        cells = [inputs.changed(first, row).changed(second, column) for column in values[second]]
        recall.append([ask(cell)[0].capacity.recall for cell in cells if ask(cell)])
    if any(len(row) < len(_TIMES) for row in recall):
        return None
    return LeverTable(
        rows=first,
        columns=second,
        row_values=values[first],
        column_values=values[second],
        recall=recall,
    )


def _changes(inputs: Inputs) -> list[tuple[str, str, Inputs]]:
    changes = []
    for name in ("exposures", "rank" if inputs.rank else "d_model"):
        value = 2 * (inputs.value(name) or 1)
        if math.isfinite(value):
            changes.append((name, _WORDS[name].format(value), inputs.changed(name, value)))
    every = tuple(inputs.shape.matrices())
    if inputs.question().partial:
        changes.append(
            (
                "target_modules",
                f"adapters on all matrices (--target-modules {ALL})",
                replace(inputs, modules=every),
            )
        )
    return changes


def _middle(recall: Ends) -> float:
    return (recall.value + recall.low + recall.high) / 3
