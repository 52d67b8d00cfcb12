"""A small transformer of several layers, in which each feature can be switched off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recallscope.common.errors import ProblemError
from recallscope.model.language_model import LanguageModel
from recallscope.problem.long_values import text_of
from recallscope.problem.part import problem_field
from recallscope.problem.problem import Problem

if TYPE_CHECKING:
    from torch import nn

    from recallscope.model.setup import Setup


@dataclass(frozen=True)
class SmallGPT(LanguageModel):
    """Layers of attention with an MLP each, in the way of GPT-2."""

    takes_mark = True

    layers: int = problem_field(2, low=1, high=1000, help="Attention layers, each with an MLP.")
    heads: int = problem_field(
        1, low=1, high=1000, help="Attention heads of a layer; a divisor of dim."
    )
    mlp_ratio: float = problem_field(
        4.0, low=0.0, high=64.0, help="The width of an MLP in multiples of dim; 0 for none."
    )
    positions: bool = problem_field(True, help="Whether learned positions are added to tokens.")
    layer_norm: bool = problem_field(True, help="Whether layers normalise what they read.")
    residual: bool = problem_field(True, help="Whether layers add to what they read.")
    tied: bool = problem_field(False, help="Whether labels have the embeddings of tokens.")
    freeze_embeddings: bool = problem_field(
        False, help="Whether embeddings stay as they are drawn."
    )
    dropout: float = problem_field(
        0.0, low=0.0, high=0.9, help="The fraction that is dropped in training."
    )

    def build(self, setup: Setup) -> nn.Module:
        """The module, with the weights of the checkpoint and a low-rank update if there are any."""
        from recallscope.model.gpt import GPT, MATRICES
        from recallscope.model.lora import with_low_rank

        module = GPT(setup).to(setup.instance.tokens.dtype)
        if self.checkpoint and not module.embed.weight.is_meta:
            _load(module, text_of(self.checkpoint))
        return with_low_rank(module, setup.problem, MATRICES)

    def check(self, problem: Problem) -> None:
        """Raise if heads do not divide the dimension, or the width is given twice."""
        super().check(problem)
        if problem.dim % self.heads:
            raise ProblemError(f"heads={self.heads} does not divide dim={problem.dim}")
        if problem.width is not None:
            raise ProblemError("the width of the model gpt is mlp_ratio times dim; give mlp_ratio")


def _load(module: nn.Module, folder: str) -> None:
    from safetensors.torch import load_model

    try:
        load_model(module, f"{folder}/model.safetensors")
    except (OSError, RuntimeError, ValueError) as error:
        why = str(error).strip().splitlines()[-1].strip()
        raise ProblemError(
            f"the checkpoint {folder!r:.200} does not fit the model: {why}"
        ) from None


PART = SmallGPT()
