"""Facts of a user's file, taught to a checkpoint: problems that `Teach` makes and runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from recallscope.common.errors import ProblemError
from recallscope.problem.part import problem_field
from recallscope.problem.problem import Problem
from recallscope.task.kind import Task


@dataclass(frozen=True)
class TextTask(Task):
    """The facts of a file.

    `samples` of a problem is the number of facts in the file, and vocab, dim and length are sizes
    of the checkpoint.
    """

    has_mark = False

    facts: int = problem_field(
        0, low=0, monotone=-1, help="How many facts of the file are taught; 0 for all of them."
    )
    content: str = problem_field("", help="A hash of the facts and of the weights.")

    def make(self, problem: Problem, seed: int) -> NoReturn:
        """Raise: texts are no sequences of tokens before the checkpoint is loaded."""
        raise ProblemError("the task text has the facts of a file and no samples")

    def check(self, problem: Problem) -> None:
        """Raise if more facts are asked for than there are, or by another learner."""
        if problem.learner != "trainer":
            raise ProblemError(
                f"the task text is for the learner trainer, not {problem.learner}; make the "
                "problem by Teach(facts, model).problem()"
            )
        if self.facts > problem.samples:
            raise ProblemError(
                f"facts must be at most the {problem.samples:,.0f} of the file, not "
                f"{self.facts:,}; give a smaller number or another file"
            )

    def number_of_facts(self, problem: Problem) -> int:
        """Those that are taught."""
        return self.facts or int(problem.samples)


PART = TextTask()
