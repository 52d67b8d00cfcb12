"""The end of training without an optimiser: the minimum of a loss that is convex."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recallscope.common.errors import ProblemError
from recallscope.model.learner import Learner, Outcome
from recallscope.model.setup import Setup
from recallscope.problem.part import problem_field
from recallscope.problem.problem import Problem
from recallscope.training.options import check_mark

if TYPE_CHECKING:
    from recallscope.model.cost import Cost


@dataclass(frozen=True)
class Converged(Learner):
    """The minimum of the cross-entropy over the value matrix, with attention given."""

    minimum = True
    metrics = ("certified", "separable", "slope", "final_loss", "looks")

    attention: str = problem_field(
        "mark",
        choices=("mark", "three-step", "adam"),
        help="Where attention is: at the trigger, as three steps left it, or as Adam did.",
    )

    def learn(self, setup: Setup) -> Outcome:
        """The minimum, with a certificate of how near it is."""
        from recallscope.training.end import end_of_training

        return end_of_training(setup)

    def check(self, problem: Problem) -> None:
        """Raise unless the loss is convex, and known."""
        if problem.model != "transformer":
            raise ProblemError(
                f"the learner converged is for the model transformer, not for {problem.model}"
            )
        check_mark(problem)
        if problem.regime != "limit":
            raise ProblemError(
                "the learner converged takes no steps; leave regime, eta and gamma out"
            )
        if math.isinf(problem.samples) and self.attention != "mark":
            raise ProblemError(
                f"with attention={self.attention} the learner converged needs a number of "
                "samples, not inf"
            )
        if math.isinf(problem.samples) and not problem.part("task").equal_facts:
            raise ProblemError(
                "with samples=inf the learner converged needs a task with equally frequent facts, "
                f"which {problem.task} does not declare; give a number of samples, or make the "
                "task with equal_facts = True if its samples are those of a permutation"
            )

    def cost(self, problem: Problem, engine: str, dtype: str, test_samples: int) -> Cost:
        """That of the search for a minimum."""
        from recallscope.training.cost import convex_cost

        return convex_cost(problem, dtype, test_samples)


PART = Converged()
