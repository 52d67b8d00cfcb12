"""The end of training by gradients: the memory is derived, attention partly.

Trainings find the trigger or do not, so the interval of recall is around that of those that do,
and begins at zero where some do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from recallscope.problem.problem import Problem
from recallscope.theory import end_answers
from recallscope.theory.end_law import end_of_training
from recallscope.theory.finding import TURNS
from recallscope.theory.law import Answer, Given, Law, LawKind, Ranges
from recallscope.theory.recorded_error import ComparedProblem, RecordedError, error_near, recorded
from recallscope.theory.tested_range import distance

_TESTED: Ranges = {
    "vocab": (64, 2048),
    "dim": (4, 125),
    "length": (2, 512),
    "samples per fact": (0.25, 32),
}
"""Where it was found and judged, with d below V; L above 128 where V is at most 256."""
_WIDENS = 0.25
_STEPS = 1000  # at least: the law is about the end of training
_SURE = 0.95  # of trainings that find the trigger: then others are not in the interval
_SIZES = ("vocab", "samples", "dim", "length")
_LEAST_SNR, _ON_THE_EDGE = 1e-3, 0.02
_COLUMNS = {"recall_accuracy": "recall", "attention_accuracy": "attention"}


def _accuracies_if_found(problem: Problem) -> dict[str, float]:
    end = end_of_training(problem)
    return {"recall_accuracy": end.recall_if_found, "attention_accuracy": end.attention}


@dataclass(frozen=True)
class AfterTraining(Law):
    """The end of training by gradients."""

    kind = LawKind.FITTED
    priority = 60
    about = "predicted after training"
    origin = "After training: the memory is derived, attention is partly fitted."
    tested: ClassVar[Ranges] = _TESTED
    widens = _WIDENS

    def applies(self, problem: Problem) -> str | None:
        """Why the law says nothing of a problem; None if it does."""
        if problem.learner not in TURNS:
            return f"no law of training for the learner {problem.learner}"
        if problem["steps"] < _STEPS:
            return f"no law of training at steps {problem['steps']}"
        return end_answers.refusal(problem, ["steps"], task="recall")

    def predict(self, problems: Sequence[Problem], given: Given) -> list[Answer]:
        """An answer for each of the problems."""
        answers = end_answers.predict_end(problems, given)
        if not given.details:
            return answers
        return [
            answer if answer.reason else replace(answer, intervals=self._intervals(problem))
            for problem, answer in zip(problems, answers, strict=True)
        ]

    def _intervals(self, problem: Problem) -> dict[str, tuple[float, float]]:
        end = end_of_training(problem)
        wider = 1 + _WIDENS * (distance(problem, _TESTED) or 0.0)
        intervals = {}
        for accuracy, value in _accuracies_if_found(problem).items():
            error = self.recorded_error(problem, accuracy, value)
            most = 1.0 if error is None else error.wider(wider).most
            low = max(value - most, 0.0) if end.trigger_found > _SURE else 0.0
            intervals[accuracy] = (low, min(value + most, 1.0))
        return intervals

    def untested(self, problem: Problem) -> list[str]:
        """What else of a problem it was not compared at."""
        long = problem.length > 128 and problem.vocab > 256
        wide = [f"length {problem.length} > 128 with vocab {problem.vocab} > 256"] if long else []
        return [*end_answers.untested(problem), *wide]

    def recorded_error(self, problem: Problem, accuracy: str, _: float) -> RecordedError | None:
        """At trainings by the same learner that found the trigger as clearly, as far from capacity.

        It is the error of an accuracy if the trigger is found; that of the mean over trainings says
        nothing of one. Behind an MLP there are few, so those by other learners count too.
        """
        rows, column = recorded("trained.csv"), _COLUMNS[accuracy]
        end = end_of_training(problem)
        here = {
            "trigger_snr": max(end.trigger_snr or math.inf, _LEAST_SNR),
            "away": max(abs(end.parameters / end.edge.parameters - 1), _ON_THE_EDGE),
        }
        measured = rows[f"{column}_if_found"]
        alike = (rows["learner"] == problem.learner) & (rows["width"] == 0)
        if problem.width is not None:
            alike = rows["width"] > 0
        return error_near(
            here,
            _accuracies_if_found(problem)[accuracy],
            {
                "trigger_snr": np.maximum(rows["trigger_snr"], _LEAST_SNR),
                "away": np.maximum(np.abs(rows["share_of_edge"] - 1), _ON_THE_EDGE),
            },
            rows[f"predicted_{column}_if_found"],
            measured,
            alike & np.isfinite(measured),
        )

    def comparisons(self) -> list[ComparedProblem]:
        """The problems it was compared with."""
        rows = recorded("trained.csv")
        comparisons = []
        for place, learner in enumerate(rows["learner"]):
            sizes = {name: int(rows[name][place]) for name in _SIZES}
            if width := int(rows["width"][place]):
                sizes |= {"width": width}
            both = (
                {name: float(rows[f"{of}{accuracy}"][place]) for name, accuracy in _COLUMNS.items()}
                for of in ("predicted_", "")
            )
            comparisons.append(
                ComparedProblem(Problem.from_dict({**sizes, "learner": str(learner)}), *both)
            )
        return comparisons

    def seconds(self, problem: Problem) -> float:
        """About how long a prediction takes."""
        return end_answers.seconds(problem)

    def explain(self, problem: Problem, answer: Answer) -> str:
        """A sentence or more on an answer."""
        return end_answers.explain_end(problem, answer)


PART = AfterTraining()
