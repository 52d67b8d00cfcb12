"""A law, of a made-up kind: recall falls with how far embeddings lean."""

from __future__ import annotations

from collections.abc import Sequence

from recallscope import Answer, Given, Law, Problem


def applies(problem: Problem) -> str | None:
    if problem.embedding != "leaning":
        return f"the law of leaning is not about the embedding {problem.embedding}"
    return None


def predict(problems: Sequence[Problem], given: Given) -> list[Answer]:
    return [
        Answer(
            accuracies={
                "recall_accuracy": min(problem.dim**2 / (4 * problem.vocab), 1.0)
                / (1 + problem.lean),
            }
        )
        for problem in problems
    ]


LAW = Law(
    applies=applies,
    predict=predict,
    kind="fitted",
    priority=200,
    tested={"dim": (8, 64), "lean": (0.0, 2.0)},
    about="predicted for rows that lean",
)
