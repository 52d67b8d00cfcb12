"""A task with few labels: the marked token's class, of as many classes as a field says."""

from __future__ import annotations

from dataclasses import dataclass

from recallscope import Problem, ProblemError, RecallTask, Samples, Task, problem_field


class Classes:
    """The samples of recall, with the label taken modulo the number of classes."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.recall = RecallTask(problem.vocab, problem.length, seed)
        self.classes = problem.classes

    def draw(self, start: int, stop: int, split: str = "train") -> Samples:
        samples = self.recall.draw(start, stop, split)
        return samples._replace(label=samples.label % self.classes)


@dataclass(frozen=True)
class Parity(Task):
    classes: int = problem_field(2, low=2, help="How many labels there are.")

    def make(self, problem: Problem, seed: int) -> Classes:
        return Classes(problem, seed)

    def check(self, problem: Problem) -> None:
        if self.classes > problem.vocab:
            raise ProblemError(f"there are more classes ({self.classes}) than tokens")
