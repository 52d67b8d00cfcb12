"""A plan as a figure: recall against facts, and against what helps most."""

from __future__ import annotations

from collections.abc import Sequence

from recallscope.planning.asking import LawAnswer, ask
from recallscope.planning.inputs import Inputs
from recallscope.planning.solving import size_range
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.theory.law import LawKind
from recallscope.theory.prediction import Standing
from recallscope.theory.question import Ends

_POINTS = 13
_AROUND = 30.0  # times what was asked, to both sides
_LABELS = {
    "facts": "facts",
    "rank": "rank of LoRA",
    "exposures": "exposures of each fact",
    "d_model": "dimension of embeddings",
}


def plan_picture(
    inputs: Inputs, law: LawAnswer, status: Standing, levers: Sequence[str]
) -> Picture:
    """Recall with its interval along facts, and along the lever that helps most for its cost."""
    best = [name for name in levers if name in _LABELS]
    usual = "rank" if inputs.method == "lora" else "d_model"
    panels = [_panel(inputs, law, name) for name in ("facts", best[0] if best else usual)]
    errors = "interval by the errors that published values had at small models"
    between = errors if law.kind == LawKind.PUBLISHED else "90 % interval"
    caption = (
        f"Recall by the law {law.law} ({law.kind}, {status}); thin lines: {between}. "
        f"The point with a bar is what was asked. {law.origin}"
    )
    return Picture(caption=caption, panels=panels)


def _panel(inputs: Inputs, law: LawAnswer, name: str) -> Panel:
    here = inputs.value(name) or 1.0
    along = _along(inputs, name, here)
    sizes = [size for size, _ in along]
    lines = [
        Series(
            label,
            Kind.THEORY if end == "value" else Kind.REFERENCE,
            sizes,
            [getattr(recall, end) for _, recall in along],
        )
        for label, end in (("recall", "value"), ("low end", "low"), ("high end", "high"))
    ]
    recall = law.capacity.recall
    question = Series(
        "asked", Kind.MEASURED, [here], [recall.value], low=[recall.low], high=[recall.high]
    )
    title = f"recall against {_LABELS[name]}"
    return Panel(title=title, x=_LABELS[name], y="recall", series=[*lines, question], log_x=True)


def _along(inputs: Inputs, name: str, here: float) -> list[tuple[float, Ends]]:
    smallest, largest = size_range(inputs, name)
    low, high = max(here / _AROUND, smallest), min(here * _AROUND, largest)
    recall_at = {}
    for place in range(_POINTS):
        size = round(low * (high / low) ** (place / (_POINTS - 1)))
        if answers := ask(inputs.changed(name, size)):
            recall_at[float(size)] = answers[0].capacity.recall
    return list(recall_at.items())
