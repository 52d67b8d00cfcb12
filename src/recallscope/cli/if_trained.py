"""Recall after training, next to three steps."""

from __future__ import annotations

from typing import Any

from recallscope.problem.problem import Problem

_STEPS = "This is after three gradient steps."


def if_trained(problem: Problem, *sought: Any) -> dict[str, Any]:
    """The recall after training, or the size that it needs, for JSON next to three steps."""
    from recallscope.theory.if_trained import predict_if_trained, solve_if_trained

    answer = solve_if_trained(problem, *sought) if sought else predict_if_trained(problem)
    return {} if answer is None else {"if_trained": answer.to_dict()}


def print_solved_if_trained(problem: Problem, quantity: str, target: float, accuracy: str) -> None:
    """The same for a size that reaches a target."""
    from recallscope.theory.if_trained import solve_if_trained, trained_instead

    other = trained_instead(problem)
    if other is None:
        return
    trained = solve_if_trained(problem, quantity, target, accuracy)
    if trained is None:
        # A law of training may lack this accuracy, or take too long.
        print(f"{_STEPS} For a trained model give --learner {other.learner}.")
        return
    size = "none" if trained.value is None else f"{quantity} = {trained.value}"
    low, high = ("none" if end is None else end for end in trained.range)
    between = "" if trained.value is None else f" ({low} to {high})"
    print(f"{_STEPS} Trained by {other.learner}: {size}{between}, {trained.prediction.status}.")
