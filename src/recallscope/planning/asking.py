"""Answers to a question: the best law of each kind answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from recallscope.planning.inputs import SMALL, Inputs
from recallscope.problem.registry import names
from recallscope.theory.choosing import law_named, predict_problems
from recallscope.theory.law import Given, Law, LawKind
from recallscope.theory.prediction import Prediction
from recallscope.theory.published import spanned
from recallscope.theory.question import Capacity, Ends, Limit, Question
from recallscope.theory.recorded_error import SMALL_MODELS, recorded

_FACTORS = {
    "trigger_found": Limit.ATTENTION,
    "attention_if_found": Limit.ATTENTION,
    "facts_seen": Limit.UNSEEN,
    "memory_accuracy": Limit.CAPACITY,
}
_GOOD = 0.99  # a recall that nothing limits
_MOST_LOAD = 3.0  # bits of all facts for each parameter


@dataclass(frozen=True, kw_only=True)
class LawAnswer:
    """The answer of one law, and its source.

    Attributes:
        law: its name.
        kind: derived, fitted or published.
        origin: a sentence.
        capacity: the numbers.
    """

    law: str
    kind: str
    origin: str
    capacity: Capacity

    @property
    def extrapolated(self) -> bool:
        """Whether the question is unlike what the law was tested at."""
        return bool(self.capacity.extrapolated) or self.kind == LawKind.PUBLISHED


@lru_cache(maxsize=512)
def ask(inputs: Inputs) -> list[LawAnswer]:
    """The answers of the best law of each kind, the one that counts first; empty if no law applies.

    One that was tested at such sizes comes before others. Models of up to a million parameters and
    3 bits for each were planned and trained here (the study planner): for them fitted laws come
    before published ones.

    Of published laws the first answers, with the span of all as its interval.
    """
    question = inputs.question()
    by_kind: dict[str, list[tuple[str, Law, Capacity]]] = {}
    for name in sorted(names("law"), key=lambda name: -law_named(name).priority):
        law = law_named(name)
        capacity = _capacity(name, law, question)
        if not isinstance(capacity, str):
            by_kind.setdefault(str(law.kind), []).append((name, law, capacity))
    answers = []
    for kind, mine in by_kind.items():
        name, law, capacity = mine[0]
        published = kind == LawKind.PUBLISHED
        if published:
            capacity = spanned({law_name: answer for law_name, _, answer in mine}, question)
        answers.append(
            LawAnswer(
                law=name,
                kind=kind,
                origin=law.origin,
                capacity=capacity,
            )
        )
    load = question.facts * question.bits / question.trained
    small = inputs.shape.parameters <= SMALL and load <= _MOST_LOAD
    return sorted(
        answers,
        key=lambda answer: (answer.extrapolated, small and answer.kind == LawKind.PUBLISHED),
    )


def largest_tested() -> float:
    """The most trained parameters of any experiment that a law here was compared with."""
    rows = recorded("memories.csv")
    memories, models = rows["dim"] * rows["width"], recorded(SMALL_MODELS)["trained"]
    return float(max(memories.max(), models.max()))


def _capacity(name: str, law: Law, question: Question) -> Capacity | str:
    answer = law.capacity(question)
    if answer is not None:
        return answer
    if question.problem is None:
        return "it is about experiments of this package, and the question is not one"
    if (reason := law.applies(question.problem)) is not None:
        return reason
    (prediction,) = predict_problems([question.problem], Given(details=True), law=name)
    if prediction.law is None or prediction.recall_accuracy is None:
        return str(prediction.reason)
    return _of_prediction(prediction, question)


def _of_prediction(prediction: Prediction, question: Question) -> Capacity:
    estimate = prediction.estimates["recall_accuracy"]
    low, high = (0.0, 1.0) if estimate.low is None else (estimate.low, estimate.high or 1.0)
    recall = Ends(estimate.value, low, high)
    factors = {name: value for name, (value, _) in prediction.factors.items() if name in _FACTORS}
    limit = Limit.CAPACITY
    if recall.value >= _GOOD:
        limit = Limit.NONE
    elif factors:
        limit = _FACTORS[min(factors, key=factors.__getitem__)]
    facts = [
        math.inf if limit is not Limit.CAPACITY else fraction * question.facts
        for fraction in recall
    ]
    return Capacity(
        recall=recall,
        facts=Ends(*facts),
        limit=limit,
        extrapolated=prediction.extrapolated,
        said=", ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in factors.items()),
    )
