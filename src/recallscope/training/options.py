"""The rules that the options of a training obey."""

from __future__ import annotations

import math

from recallscope.common.errors import ProblemError
from recallscope.problem.problem import Problem


def check(problem: Problem) -> None:
    """Raise if a problem cannot be trained as it says."""
    if math.isinf(problem.samples):
        raise ProblemError(
            f"the learner {problem.learner} is given samples one by one and needs a number of them,"
            " not inf; give samples, and fresh=true for new ones at every step"
        )
    check_mark(problem)
    if not problem.part("model").batched:
        for name in ("start", "learn_embeddings", "learn_mlp", "saturation"):
            if getattr(problem, name):
                raise ProblemError(f"{name} is for the model transformer, not for {problem.model}")
        if problem.regime == "literal":
            raise ProblemError(
                f"three literal steps are for the model transformer, not for {problem.model}; "
                "leave regime, eta and gamma out"
            )
    if problem["learn_mlp"] and problem.width is None:
        raise ProblemError("learn_mlp needs an MLP; give a width")
    if problem["saturation"] and problem.regime == "literal":
        raise ProblemError(
            "saturation is for the limit regime; in the literal regime eta and gamma say how large "
            "the first steps are"
        )


def check_mark(problem: Problem) -> None:
    """Raise if a model reads a marked position where there is none."""
    reads_ids = problem.part("model").reads_ids
    if not reads_ids and not problem.part("task").has_mark:
        raise ProblemError(
            f"the model {problem.model} reads a marked position, which the task {problem.task} "
            "does not have; choose a model that reads ids"
        )


def rows_of_step(problem: Problem) -> int:
    """How many samples each step is given.

    >>> rows_of_step(Problem(vocab=8, samples=500, dim=4, length=2, learner="adam", batch=32))
    32
    """
    batch, there = getattr(problem, "batch", 0), int(problem.samples)
    return batch if batch and (batch < there or problem["fresh"]) else there
