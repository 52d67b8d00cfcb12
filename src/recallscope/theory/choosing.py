"""Which law answers for a problem, what it says, and what could be asked where none does."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import cache
from typing import Any, NamedTuple

from recallscope.common.errors import ProblemError
from recallscope.problem.naming import PART_DEFAULTS, find_part, part_name
from recallscope.problem.part import fields_of
from recallscope.problem.problem import Problem
from recallscope.problem.registry import names
from recallscope.theory.law import NOTHING_GIVEN, Answer, Given, Law
from recallscope.theory.prediction import Prediction, Standing
from recallscope.theory.tested_range import clipped, distance, outside

_MOST_CHANGES = 2  # of a problem that can be answered, from the one that was asked about


class NoLawError(ProblemError):
    """No law says anything of this problem; the message says because of what."""


class Choice(NamedTuple):
    """The law that answers, by its name; or why none does, and what could be asked instead."""

    name: str | None
    reason: str | None = None
    nearest: Problem | None = None

    @property
    def law(self) -> Law:
        """The law itself."""
        if self.name is None:
            raise NoLawError(str(self.reason))
        return law_named(self.name)


def law_named(name_or_law: Any) -> Law:
    """A law by its name, or as it was given."""
    return find_part("law", part_name("law", name_or_law))


def law_in_words(name: str | None) -> dict[str, str | None]:
    """A law's name, its kind and its origin, as plain values for figures.

    >>> law_in_words("three-step")
    {'law': 'three-step', 'kind': 'derived', 'origin': 'Closed forms, nothing fitted.'}
    """
    if name is None:
        return dict.fromkeys(("law", "kind", "origin"))
    law = law_named(name)
    return {"law": name, "kind": str(law.kind), "origin": law.origin}


@cache
def _by_priority(registered: tuple[str, ...]) -> list[list[str]]:
    """The names of laws, those of one priority together, the highest first."""
    ranked: dict[int, list[str]] = defaultdict(list)
    for name in registered:
        ranked[law_named(name).priority].append(name)
    return [ranked[priority] for priority in sorted(ranked, reverse=True)]


def choose(problem: Problem, *others: Problem, law: Any = None) -> Choice:
    """The law for a problem: the one given, or that with the highest priority that applies.

    If several problems are given, it applies to one at least.

    >>> choose(Problem(vocab=512, samples=8192, dim=64, length=32)).name
    'three-step'
    >>> choose(Problem(vocab=512, samples=8192, dim=64, length=32, learner="sgd")).reason
    'no closed form for the learner sgd'
    """
    if law is not None:
        name = part_name("law", law)
        applies = law_named(name).applies
        reasons = [applies(candidate) for candidate in (problem, *others)]
        return Choice(name) if None in reasons else Choice(None, reasons[0])
    applying = _applying(problem, *others)
    return Choice(applying) if applying is not None else _refusal(problem, *others)


def _applying(*problems: Problem) -> str | None:
    for together in _by_priority((*names("law"),)):
        laws = {name: law_named(name).applies for name in together}
        applying = [
            name
            for name, applies in laws.items()
            if any(applies(problem) is None for problem in problems)
        ]
        if len(applying) > 1:
            raise ProblemError(
                f"the laws {' and '.join(applying)} apply alike, with priority "
                f"{law_named(applying[0]).priority}; name one of them as law"
            )
        if applying:
            return applying[0]
    return None


def _refusal(problem: Problem, *others: Problem) -> Choice:
    """The nearest problem that a law answers, and that law's reason for not answering this one."""
    for near in _nearby(problem):
        if (name := _applying(near)) is not None:
            reasons = [law_named(name).applies(candidate) for candidate in (problem, *others)]
            # The shortest reason does not name the size that is sought: the law applies to some
            # values.
            return Choice(None, min(map(str, reasons), key=len), near)
    every = [name for together in _by_priority((*names("law"),)) for name in together]
    return Choice(None, law_named(every[-1]).applies(problem))


def _nearby(problem: Problem) -> Iterator[Problem]:
    """Problems with none, one or two options at their defaults, and sizes that were tested.

    Those with the same parts come first, and those with another learner last: who trains is not
    asked to take three steps instead.
    """
    defaults = {"regime": "limit", "width": None, "activation": None, "trigger_in_values": False}
    defaults |= {name: value for name, value in PART_DEFAULTS.items() if name != "metrics"}
    declared = {
        field: declaration.default
        for kind, name in problem.parts()
        for field, declaration in fields_of(find_part(kind, name)).items()
    }
    plain = declared | defaults
    differing = [name for name in plain if getattr(problem, name) != plain[name]]
    every = [
        some
        for count in range(_MOST_CHANGES + 1)
        for some in itertools.combinations(differing, count)
    ]
    for some in sorted(
        every, key=lambda some: ("learner" in some, not PART_DEFAULTS.keys().isdisjoint(some))
    ):
        changes = {name: plain[name] for name in some}
        if "width" in changes:
            changes["activation"] = None  # which an MLP alone has
        with suppress(ProblemError):
            near = problem.replace(**changes)
            yield near
            for name in names("law"):
                with suppress(ProblemError):
                    yield clipped(near, law_named(name).tested)


def predict_problems(
    problems: Sequence[Problem], given: Given = NOTHING_GIVEN, law: Any = None
) -> list[Prediction]:
    """Return predictions of problems, in their order; each law is asked once, about all.

    >>> problem = Problem(vocab=512, samples=8192, dim=64, length=32)
    >>> [round(prediction.recall_accuracy, 2) for prediction in predict_problems([problem] * 2)]
    [0.32, 0.32]
    """
    predictions: list[Prediction | None] = [None] * len(problems)
    places: dict[str, list[int]] = defaultdict(list)
    for place, problem in enumerate(problems):
        choice = choose(problem, law=law)
        if choice.name is None:
            predictions[place] = Prediction(
                problem=problem, reason=choice.reason, nearest=choice.nearest
            )
        else:
            places[choice.name].append(place)
    done = 0
    for name, mine in places.items():
        of_law = [problems[place] for place in mine]
        answers = law_named(name).predict(of_law, given._part(done, len(mine), len(problems)))
        if len(answers) != len(of_law):
            raise ProblemError(
                f"the law {name} gave {len(answers)} answers for {len(of_law)} problems"
            )
        for place, answer in zip(mine, answers, strict=True):
            predictions[place] = _prediction(problems[place], name, answer, given.details)
        done += len(mine)
    return [prediction for prediction in predictions if prediction is not None]


def quick_prediction(problem: Problem, patience: float = 5.0) -> Prediction | None:
    """Return the prediction of a measured problem; None if no law answers within `patience`."""
    choice = choose(problem)
    if choice.name is None or choice.law.seconds(problem) > patience:
        return None
    (prediction,) = predict_problems([problem])
    return None if prediction.law is None else prediction


def _prediction(problem: Problem, name: str, answer: Answer, details: bool) -> Prediction:
    if answer.reason is not None:
        return Prediction(problem=problem, reason=answer.reason)
    law = law_named(name)
    untested = _untested(problem, law)
    far = distance(problem, law.tested)
    errors = {
        accuracy: error.wider(1 + law.widens * (far or 0.0))
        for accuracy, value in answer.accuracies.items()
        if details and (error := law.recorded_error(problem, accuracy, value)) is not None
    }
    around = {
        name: (max(value - errors[name].most, 0.0), min(value + errors[name].most, 1.0))
        for name, value in answer.accuracies.items()
        if name in errors
    }
    return Prediction(
        **{field.name: getattr(answer, field.name) for field in fields(answer)}
        | {"intervals": around | dict(answer.intervals)},
        problem=problem,
        law=name,
        kind=str(law.kind),
        status=Standing.EXTRAPOLATED if untested or not law.tested else Standing.TESTED,
        distance=far,
        extrapolated=untested,
        recorded_error=errors,
    )


def extrapolated(problem: Problem) -> list[str]:
    """Return the sizes of a problem that its law was not tested at; none, for most.

    >>> extrapolated(Problem(vocab=512, samples=8192, dim=64, length=32))
    []
    >>> extrapolated(Problem(vocab=512, samples=10**6, dim=8, length=2048))
    ['dim 8 < 16', 'length 2048 > 1024', 'samples per fact 1953.12 > 400']
    """
    choice = choose(problem)
    return [] if choice.name is None else _untested(problem, choice.law)


def _untested(problem: Problem, law: Law) -> list[str]:
    return [*outside(problem, law.tested), *law.untested(problem)]


def say_extrapolated(problems: Iterable[Problem], called: str = "") -> str | None:
    """The same of one or more predictions, as a sentence; None where nothing is to be said.

    >>> say_extrapolated([Problem(vocab=512, samples=8192, dim=64, length=2048)])
    'extrapolated: length 2048 > 1024'
    """
    every = list(problems)
    reasons_of_all = [extrapolated(problem) for problem in every]
    untested = [reasons for reasons in reasons_of_all if reasons]
    if not untested:
        return None
    reasons = "; ".join(dict.fromkeys(reason for one in untested for reason in one))
    of_many = (
        f" in {len(untested)} of {len(every)}{called and ' '}{called}" if len(every) > 1 else ""
    )
    return f"extrapolated{of_many}: {reasons}"
