"""What models of language have in common: low-rank updates, checkpoints and bfloat16."""

from __future__ import annotations

from dataclasses import dataclass

from recallscope.common.errors import ProblemError
from recallscope.model.kind import Model
from recallscope.problem.part import problem_field
from recallscope.problem.problem import Problem


@dataclass(frozen=True)
class LanguageModel(Model):
    """A model that reads ids, and may begin with the weights of a checkpoint."""

    reads_ids = True

    rank: int = problem_field(
        0,
        low=0,
        monotone=1,
        help="The rank of an update (LoRA) of frozen matrices; 0 to train the whole model.",
    )
    target_modules: str = problem_field(
        "", help="The modules that a low-rank update is for, by name; all if none is given."
    )
    checkpoint: str = problem_field(
        "", long="folder", help="A folder with weights to begin with, as safetensors."
    )
    bf16: bool = problem_field(
        False, help="Whether matrix products are in bfloat16; weights stay as they are."
    )

    def check(self, problem: Problem) -> None:
        """Raise if a low-rank update cannot be as the problem says."""
        if self.target_modules and not self.rank:
            raise ProblemError("target_modules are for a low-rank update; give a rank too")
