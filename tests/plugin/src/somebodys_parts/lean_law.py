"""A law, of a made-up kind: recall falls with how far embeddings lean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from recallscope import Answer, Given, Law, Problem


@dataclass(frozen=True)
class LeanLaw(Law):
    kind = "fitted"
    priority = 200
    tested: ClassVar = {"dim": (8, 64), "lean": (0.0, 2.0)}
    about = "predicted for rows that lean"

    def applies(self, problem: Problem) -> str | None:
        if problem.embedding != "leaning":
            return f"the law of leaning is not about the embedding {problem.embedding}"
        return None

    def predict(self, problems: Sequence[Problem], given: Given) -> list[Answer]:
        return [Answer(accuracies={"recall_accuracy": self.recall(each)}) for each in problems]

    def recall(self, problem: Problem) -> float:
        return min(problem.dim**2 / (4 * problem.vocab), 1.0) / (1 + problem.lean)
