"""Capacities that others measured, as laws: facts for each trained parameter.

Their recall is the fraction of the facts that fit. An interval is the span of all published values
that apply to a question, wider by their errors at small models that were trained here.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

from recallscope.problem.problem import Problem
from recallscope.theory.law import Answer, Given, Law, LawKind
from recallscope.theory.question import PRECISIONS, Capacity, Ends, Limit, Question
from recallscope.theory.recorded_error import SMALL_MODELS, recorded

SATURATED = 1000.0  # exposures, from which on more are said to add nothing
LESS, MORE = 5.6, 1.6
"""How many times fewer facts, and more, than published values 90 % of 42 small models stored that
were trained here for at least 30 exposures and recalled less than 0.97 (the study planner)."""
_WIDENS = 0.5  # for each factor of e beyond: so do errors grow in the law of small transformers
_IN_PLAN_ONLY = "no law for experiments: it is about models by their trained parameters, as in plan"
_FROM_SCRATCH = "pretrain"


def refusal(question: Question) -> str | None:
    """Why published values say nothing of a question."""
    if question.method == "memory":
        return "it is about whole models, not about one memory over frozen embeddings"
    if question.precision not in PRECISIONS:
        return f"it is about weights that are not quantised, not {question.precision}"
    return None


def unequal(question: Question) -> list[str]:
    """Return the caveat of a law of facts that are seen equally often; none for such facts."""
    if not question.zipf_exponent:
        return []
    return ["facts of unequal frequency: the most frequent ones are taken to be stored"]


@dataclass(frozen=True)
class LawOfModels(Law):
    """A law of models by their trained parameters: it answers questions, and no problem."""

    def applies(self, problem: Problem) -> str:
        """It is about no problem."""
        return _IN_PLAN_ONLY

    def predict(self, problems: Sequence[Problem], given: Given) -> list[Answer]:
        """It is about no problem."""
        return [Answer(reason=_IN_PLAN_ONLY) for _ in problems]

    @abstractmethod
    def capacity(self, question: Question) -> Capacity | str:
        """What the law says of a question of `plan`, or why it says nothing."""


@dataclass(frozen=True)
class PublishedLaw(LawOfModels):
    """A law from the bits of facts per trained parameter that others measured.

    Attributes:
        largest: the most trained parameters of their models.
    """

    kind = LawKind.PUBLISHED
    about = "published"
    largest: ClassVar[float] = math.inf

    @abstractmethod
    def bits(self, question: Question) -> Ends | str:
        """Bits of facts per trained parameter, or why nothing is said."""

    @abstractmethod
    def in_words(self, question: Question) -> str:
        """The law in words, for a question."""

    def capacity(self, question: Question) -> Capacity | str:
        """The facts that fit, and the fraction that they are of all."""
        reason = refusal(question)
        bits = self.bits(question) if reason is None else reason
        if isinstance(bits, str):
            return bits
        facts = Ends(*(per_parameter * question.trained / question.bits for per_parameter in bits))
        unlike = []
        if question.method != _FROM_SCRATCH:
            unlike.append(f"{question.method}: published for training all parameters from scratch")
        unlike += unequal(question)
        if question.trained > self.largest:
            unlike.append(f"{question.trained:,} trained parameters > {self.largest:,.0f}")
        return Capacity(
            recall=_recalled(facts, question),
            facts=facts,
            limit=self._limit(facts.value, question),
            extrapolated=unlike,
            said=self.in_words(question),
        )

    def _limit(self, held: float, question: Question) -> Limit:
        """Whether there is space for all facts, if they were seen more often."""
        if held >= question.facts:
            return Limit.NONE
        often = replace(question, exposures=max(SATURATED, question.exposures))
        most = self.bits(often)
        space = 0.0 if isinstance(most, str) else most.value * often.trained
        fits = space >= often.facts * often.bits
        return Limit.EXPOSURES if fits else Limit.CAPACITY


def spanned(published: Mapping[str, Capacity], question: Question) -> Capacity:
    """The first of the published answers, with an interval from the span of all and their errors.

    Small models that were trained here stored so many times less, or more, than published values
    say. Adapters larger than any here may be further off.
    """
    first, *others = published.values()
    wider = 1.0
    if question.method != _FROM_SCRATCH:
        wider += _WIDENS * math.log(max(question.trained / largest_adapter(), 1.0))
    low = min(capacity.facts.low for capacity in published.values()) / LESS**wider
    high = max(capacity.facts.high for capacity in published.values()) * MORE**wider
    facts = first.facts._replace(low=low, high=high)
    span = f"; the interval is the span of {', '.join(published)}" if others else ""
    return replace(
        first, facts=facts, recall=_recalled(facts, question), said=f"{first.said}{span}"
    )


@cache
def largest_adapter() -> float:
    """The most trained parameters of a model that was trained here after a first training."""
    rows = recorded(SMALL_MODELS)
    return float(rows["trained"][rows["method"] != _FROM_SCRATCH].max())


def _recalled(facts: Ends, question: Question) -> Ends:
    return Ends(*map(question.recalled, facts))


def if_saturated(bits: Ends, question: Question) -> Ends | str:
    """Bits for training until nothing more is learnt; a reason where it ends before."""
    if question.exposures < SATURATED:
        return f"it is about {SATURATED:,.0f} exposures or more, until nothing more is learnt"
    return bits
