"""A task with few labels: the marked token's class, of as many classes as a field says."""

from __future__ import annotations

from recallscope.parts.field import Field
from recallscope.problem import Problem, ProblemError
from recallscope.tasks.kind import Task
from recallscope.tasks.recall import RecallTask, Samples


class Classes:
    """The samples of recall, with the label taken modulo the number of classes."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.recall = RecallTask(problem.vocab, problem.length, seed)
        self.classes = problem.classes

    def draw(self, start: int, stop: int, split: str = "train") -> Samples:
        samples = self.recall.draw(start, stop, split)
        return samples._replace(label=samples.label % self.classes)


def check(problem: Problem) -> None:
    if problem.classes > problem.vocab:
        raise ProblemError(f"there are more classes ({problem.classes}) than tokens")


TASK = Task(
    make=Classes,
    fields={"classes": Field(default=2, low=2, help="How many labels there are.")},
    check=check,
)
