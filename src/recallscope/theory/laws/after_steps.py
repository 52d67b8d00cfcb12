"""Some steps of an optimiser on a memory: attention is given, how fast it learns is measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from recallscope.problem.problem import Problem
from recallscope.theory import end_answers
from recallscope.theory.end_capacity import edge
from recallscope.theory.exposures import (
    FACTOR,
    FARTHEST,
    LEARNERS,
    NEAREST,
    TARGETS,
    recall_after,
    steps_to,
)
from recallscope.theory.law import Answer, Given, Law, LawKind, Ranges

_MOST_BATCHES = 32


def _too_near(problem: Problem) -> str | None:
    if (filled := _filled(problem)) >= NEAREST:
        return None
    return (
        f"no law of steps below {NEAREST} times the parameters of the capacity threshold, and "
        f"{problem.dim}² are {filled:.2f} times; take more dimensions, or the learner converged"
    )


def _filled(problem: Problem) -> float:
    dim = min(problem.dim, problem.vocab - 1)
    return dim**2 / edge(problem.vocab, _facts(problem), dim).parameters


def _facts(problem: Problem) -> float:
    return min(problem.samples, problem.vocab)


def _batches(problem: Problem) -> float:
    batch = getattr(problem, "batch", 0)
    return max(_facts(problem) / batch, 1.0) if batch else 1.0


def _answer(problem: Problem) -> Answer:
    how = (problem.learner, problem.vocab, min(_filled(problem), FARTHEST), _batches(problem))
    seen = _facts(problem) / problem.vocab
    low, value, high = (
        seen * recall_after(problem["steps"] * factor, *how) for factor in (1 / FACTOR, 1.0, FACTOR)
    )
    steps = {f"steps_to_{target}": steps_to(target, *how) for target in TARGETS}
    passes = {f"passes_to_{target}": steps_to(target, *how) / how[3] for target in TARGETS}
    return Answer(
        accuracies={"recall_accuracy": value},
        intervals={"recall_accuracy": (low, high)},
        quantities={"times_the_edge": _filled(problem), **steps, **passes},
    )


@dataclass(frozen=True)
class AfterSteps(Law):
    """Some steps of an optimiser on a memory."""

    kind = LawKind.FITTED
    priority = 58
    about = "predicted after these steps"
    origin = "Steps of a memory: measured and interpolated, attention is given."
    tested: ClassVar[Ranges] = {"vocab": (64, 768)}

    def applies(self, problem: Problem) -> str | None:
        """Why the law says nothing of a problem; None if it does."""
        if problem.learner not in LEARNERS or problem.task != "memory":
            return f"no law of steps for the learner {problem.learner} and the task {problem.task}"
        refused = end_answers.refusal(
            problem, ["steps", "batch"], length=1, width=None, fresh=False
        )
        return refused or _too_near(problem)

    def predict(self, problems: Sequence[Problem], given: Given) -> list[Answer]:
        """An answer for each of the problems."""
        return [_answer(problem) for problem in problems]

    def untested(self, problem: Problem) -> list[str]:
        """What else of a problem it was not compared at."""
        filled, batches = _filled(problem), _batches(problem)
        choices = end_answers.untested(problem)
        if filled > FARTHEST:
            choices.append(f"{filled:.3g} times the parameters of the threshold > {FARTHEST:g}")
        if batches > _MOST_BATCHES:
            choices.append(f"{batches:.3g} batches in a pass > {_MOST_BATCHES}")
        return choices

    def explain(self, problem: Problem, answer: Answer) -> str:
        """A sentence or more on an answer."""
        quantities = answer.quantities
        steps, more_steps = (math.ceil(quantities[f"steps_to_{target}"]) for target in (0.9, 0.99))
        return (
            f"The memory has {quantities['times_the_edge']:.2f} times the parameters that store "
            f"every fact. About {steps} steps, that is {quantities['passes_to_0.9']:.3g} exposures "
            f"of each fact, bring recall to 0.9, and {more_steps} to 0.99; 90 % of trainings take "
            f"{FACTOR} times fewer to {FACTOR} times more."
        )


PART = AfterSteps()
