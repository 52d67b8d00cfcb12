"""The Trainer of transformers, which teaches facts of a file to a checkpoint: `Teach` runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from recallscope.common.errors import ProblemError
from recallscope.model.learner import Learner
from recallscope.model.setup import Setup
from recallscope.problem.part import problem_field
from recallscope.problem.problem import Problem


@dataclass(frozen=True)
class Trainer(Learner):
    """What is chosen of a training on facts of a file, beside the facts and the checkpoint."""

    exposures: float = problem_field(
        20.0, low=1e-3, high=1e6, monotone=1, help="How often each fact is seen."
    )
    rank: int = problem_field(
        0, low=0, high=2**16, monotone=1, help="The rank of LoRA adapters; 0 to train all."
    )
    rate: float = problem_field(
        0.0, low=0.0, help="The learning rate; 0 for the one that is usual for the method."
    )
    batch: int = problem_field(0, low=0, help="Facts for each step; 0 for the usual number.")

    def learn(self, setup: Setup) -> NoReturn:
        """Raise: a problem has no checkpoint and no texts, which `Teach` has."""
        raise ProblemError(
            "the learner trainer teaches facts of a file to a checkpoint; run it by Teach, as in "
            "run(Teach(facts, model).problem(), run=Teach(facts, model))"
        )

    def check(self, problem: Problem) -> None:
        """Raise unless the task has facts of a file."""
        if problem.task != "text":
            raise ProblemError(
                f"the learner trainer is for the task text, not {problem.task}; make the problem "
                "by Teach(facts, model).problem()"
            )


PART = Trainer()
