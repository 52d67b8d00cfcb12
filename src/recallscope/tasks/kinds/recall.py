"""The task of the paper: the label is the image of the marked token under a fixed permutation."""

from __future__ import annotations

from recallscope.tasks.kind import TaskKind
from recallscope.tasks.recall import Task

PART = TaskKind(
    make=lambda problem, seed: Task(problem.vocab, problem.length, seed),
    closed_form=True,
    equal_facts=True,
)
