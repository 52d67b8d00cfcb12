"""The task of the paper: the label is the image of the marked token under a fixed permutation."""

from __future__ import annotations

from recallscope.tasks.kind import Task
from recallscope.tasks.recall import RecallTask

PART = Task(
    make=lambda problem, seed: RecallTask(problem.vocab, problem.length, seed),
    closed_form=True,
    equal_facts=True,
)
