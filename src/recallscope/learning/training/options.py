"""The options of a training: the fields that learners add to problems, and their rules."""

from __future__ import annotations

import math

from recallscope.parts.field import Field
from recallscope.parts.naming import find_part
from recallscope.problem import Problem, ProblemError

COMMON = {
    "learning_rate": Field(
        default=0.0, low=0.0, help="The size of each step; 0 for one that is chosen from the sizes."
    ),
    "steps": Field(
        default=1000,
        low=0,
        high=10000000,
        monotone=1,
        help=(
            "The most steps; fewer if it converges before, by its loss over all samples, or "
            "over the last 1024 if they are fresh."
        ),
    ),
    "schedule": Field(
        default="constant",
        choices=("constant", "cosine", "warmup"),
        help="Of the learning rate: constant, cosine (falls to 0), warmup (rises over a tenth).",
    ),
    "weight_decay": Field(
        default=0.0,
        low=0.0,
        help="How strongly each step pulls the weights towards zero; 0 for not at all.",
    ),
    "warmup": Field(
        default=0.0,
        low=0.0,
        high=1.0,
        help="The share of all steps over which the learning rate rises, before any schedule.",
    ),
    "clip": Field(
        default=0.0, low=0.0, help="The longest gradient; longer ones are cut. 0 for no limit."
    ),
    "threads": Field(
        default=1,
        low=1,
        high=1024,
        help="Threads of a training; another number may give other last digits.",
    ),
    "start": Field(
        default=0.0, low=0.0, help="Standard deviation of the random first weights; 0 for zero."
    ),
    "learn_embeddings": Field(
        default=False, help="Whether the embeddings of tokens and labels learn too."
    ),
    "learn_mlp": Field(default=False, help="Whether the first matrix of the MLP learns too."),
    "saturation": Field(
        default=0.0,
        low=0.0,
        help=(
            "Begin with the first two of three steps, the second so large that scores of "
            "tokens have this standard deviation; 0 to begin at the start."
        ),
    ),
}
"""The fields of every optimiser."""


def check(problem: Problem) -> None:
    """Raise if a problem cannot be trained as it says."""
    if math.isinf(problem.samples):
        raise ProblemError(
            f"the learner {problem.learner} is given samples one by one and needs a number of them,"
            " not inf; give samples, and fresh=true for new ones at every step"
        )
    check_mark(problem)
    if not find_part("model", problem.model).batched:
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
    reads_ids = find_part("model", problem.model).reads_ids
    if not reads_ids and not find_part("task", problem.task).has_mark:
        raise ProblemError(
            f"the model {problem.model} reads a marked position, which the task {problem.task} "
            "does not have; choose a model that reads ids"
        )


def rows_of_step(problem: Problem) -> int:
    """How many samples each step is given.

    >>> rows_of_step(Problem(vocab=8, samples=500, dim=4, length=2, learner="adam", batch=32))
    32
    """
    asked, there = getattr(problem, "batch", 0), int(problem.samples)
    return asked if asked and (asked < there or problem["fresh"]) else there
