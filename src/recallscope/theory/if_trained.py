"""The recall of a problem of three gradient steps if it is trained instead."""

from __future__ import annotations

from contextlib import suppress

from recallscope.common.errors import ProblemError
from recallscope.problem.problem import Problem
from recallscope.theory.choosing import predict_problems
from recallscope.theory.law import Given
from recallscope.theory.prediction import Prediction
from recallscope.theory.required_size import Solution, no_solution, solve

_LEARNER = "adam"
_PATIENCE = 3.0  # seconds, as it is asked for next to another answer


def trained_instead(problem: Problem) -> Problem | None:
    """The same problem, trained; None if it is trained already, or cannot be trained.

    >>> trained_instead(Problem(vocab=512, samples=8192, dim=64, length=32)).learner
    'adam'
    """
    if problem.part("learner").closed_form:
        with suppress(ProblemError):
            return problem.replace(learner=_LEARNER)
    return None


def predict_if_trained(problem: Problem) -> Prediction | None:
    """Return the prediction for the trained problem; None where there is no such problem.

    >>> prediction = predict_if_trained(Problem(vocab=512, samples=8192, dim=64, length=32))
    >>> round(prediction.recall_accuracy, 2)
    1.0
    """
    trained = trained_instead(problem)
    return None if trained is None else predict_problems([trained], Given(details=True))[0]


def solve_if_trained(
    problem: Problem, quantity: str, target: float, accuracy: str
) -> Solution | None:
    """The size that reaches a target if the problem is trained; None if no law says it soon."""
    trained = trained_instead(problem)
    if trained is None or no_solution(trained, quantity, accuracy, _PATIENCE) is not None:
        return None
    return solve(trained, quantity, target, accuracy)
