"""The task of the paper: the label is the image of the marked token under a fixed permutation."""

from __future__ import annotations

from recallscope.parts.field import Field
from recallscope.problem import Problem
from recallscope.tasks.kind import FACTS, Task
from recallscope.tasks.recall import RecallTask

_DISTRACTORS = Field(
    default="same",
    choices=("same", "uniform"),
    added_as="same",
    help="The tokens that are not marked: drawn as facts are, or uniform over all tokens.",
)


def _make(problem: Problem, seed: int) -> RecallTask:
    distractors = problem["distractor_frequencies"]
    return RecallTask(
        problem.vocab, problem.length, seed, facts=problem["facts"], distractors=distractors
    )


PART = Task(
    make=_make,
    fields={**FACTS, "distractor_frequencies": _DISTRACTORS},
    closed_form=True,
    equal_facts=True,
)
