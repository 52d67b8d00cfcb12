"""The fields that models of language have in common."""

from __future__ import annotations

from recallscope.parts.field import Field
from recallscope.problem import Problem, ProblemError

FIELDS = {
    "rank": Field(
        default=0,
        low=0,
        monotone=1,
        help="The rank of an update (LoRA) of frozen matrices; 0 to train the whole model.",
    ),
    "target_modules": Field(
        default="", help="The modules that a low-rank update is for, by name; all if none is given."
    ),
    "checkpoint": Field(
        default="", long="folder", help="A folder with weights to begin with, as safetensors."
    ),
    "bf16": Field(
        default=False, help="Whether matrix products are in bfloat16; weights stay as they are."
    ),
}


def check(problem: Problem) -> None:
    """Raise if a low-rank update cannot be as the problem says."""
    if problem["target_modules"] and not problem["rank"]:
        raise ProblemError("target_modules are for a low-rank update; give a rank too")
