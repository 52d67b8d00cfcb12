"""A scaled-down model that was trained, next to what the same laws plan for it."""

from __future__ import annotations

from dataclasses import dataclass

from recallscope.common.formatting import format_duration
from recallscope.planning.in_words import factor, interval, measured, question_in_words
from recallscope.planning.inputs import Inputs
from recallscope.theory.question import Ends


@dataclass(frozen=True, kw_only=True)
class Verification:
    """Recall measured on this machine, and planned.

    Attributes:
        inputs: the model that was trained and its facts, as a question.
        steps: of each training, at most.
        seeds: one training each.
        recalls: what each recalled of its facts.
        recall: their mean, with a 95 % interval over seeds and tests.
        planned: recall by the law that counts at this scale, with its interval; and by the law
            that answers at full size, if that is another.
        inside: whether the mean lies in the interval of each.
        base_recall: of an adapted model, of the facts that it was first trained on.
        seconds: what all took.
    """

    inputs: Inputs
    steps: int | None
    seeds: list[int]
    recalls: list[float]
    recall: Ends
    planned: dict[str, Ends]
    inside: dict[str, bool]
    base_recall: float | None
    seconds: float


def what_is_trained(small: Inputs, whole: Inputs) -> str:
    """The sizes of a scaled-down model, next to those of the model planned.

    >>> from recallscope.planning.shape import ModelShape
    >>> whole = Inputs(method="memory", shape=ModelShape(dim=64), facts=999, exposures=None)
    >>> print(what_is_trained(whole.changed("d_model", 32).changed("facts", 250), whole))
    a memory of dimension 32 (planned: 64), 1,024 trained parameters (4,096); 250 facts by one ...
    """
    mine, theirs = small.shape, whole.shape
    sizes = "a memory"
    if small.method != "memory":
        layers = f"{mine.layers} layer{'s' if mine.layers > 1 else ''}"
        heads = f"{mine.heads} head{'s' if mine.heads > 1 else ''}"
        sizes = f"{mine.kind}, {layers} (planned: {theirs.layers}), {heads} ({theirs.heads}),"
    sizes += f" of dimension {mine.dim} (planned: {theirs.dim})"
    trained = f"{small.trained:,} trained parameters ({whole.trained:,})"
    of = f", with {small.answers:,} answers" if small.answers else ""
    return f"{sizes}, {trained}; {question_in_words(small)}{of}"


def verification_lines(verification: Verification, whole: Inputs) -> list[str]:
    """Return what was trained, measured and planned, and its limits."""
    numbers = ", ".join(map(str, verification.seeds))
    seeds = f"seed{'s' if len(verification.seeds) > 1 else ''} {numbers}"
    first = f"Verified on this machine: {what_is_trained(verification.inputs, whole)}."
    if verification.base_recall is not None:
        first += (
            f" It was first trained on as many other facts, recall {verification.base_recall:.2f}."
        )
    planned = "; ".join(
        f"{interval(ends)} by the law {law}, {'inside' if verification.inside[law] else 'outside'}"
        for law, ends in verification.planned.items()
    )
    far, smaller = "The size is that of your plan, but", whole.trained / verification.inputs.trained
    if smaller > 1:
        far = f"The load is that of your plan, but the model is {factor(smaller)} times smaller and"
    return [
        first,
        f"Measured recall {measured(verification.recall)}, 95 % over tests and {seeds}, in "
        f"{format_duration(verification.seconds)}. Planned for it: {planned}.",
        f"{far} its facts are random: this does not show that your plan holds.",
    ]
