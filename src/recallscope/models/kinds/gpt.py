"""A small transformer of several layers, in which each feature can be switched off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.models import language_model
from recallscope.models.kind import Model
from recallscope.parts.field import Field
from recallscope.parts.long_values import text_of
from recallscope.problem import Problem, ProblemError

if TYPE_CHECKING:
    from torch import nn

    from recallscope.learning.learner import Setup


def _build(setup: Setup) -> nn.Module:
    from recallscope.models.gpt import GPT, MATRICES
    from recallscope.models.lora import with_low_rank

    module = GPT(setup).to(setup.instance.tokens.dtype)
    if setup.problem["checkpoint"] and not module.embed.weight.is_meta:
        _load(module, text_of(setup.problem["checkpoint"]))
    return with_low_rank(module, setup.problem, MATRICES)


def _load(module: nn.Module, folder: str) -> None:
    from safetensors.torch import load_model

    try:
        load_model(module, f"{folder}/model.safetensors")
    except (OSError, RuntimeError, ValueError) as error:
        why = str(error).strip().splitlines()[-1].strip()
        raise ProblemError(
            f"the checkpoint {folder!r:.200} does not fit the model: {why}"
        ) from None


def _check(problem: Problem) -> None:
    language_model.check(problem)
    if problem.dim % problem["heads"]:
        raise ProblemError(f"heads={problem['heads']} does not divide dim={problem.dim}")
    if problem.width is not None:
        raise ProblemError("the width of the model gpt is mlp_ratio times dim; give mlp_ratio")


PART = Model(
    build=_build,
    reads_ids=True,
    takes_mark=True,
    fields={
        "layers": Field(default=2, low=1, high=1000, help="Attention layers, each with an MLP."),
        "heads": Field(
            default=1, low=1, high=1000, help="Attention heads of a layer; a divisor of dim."
        ),
        "mlp_ratio": Field(
            default=4.0,
            low=0.0,
            high=64.0,
            help="The width of an MLP in multiples of dim; 0 for none.",
        ),
        "positions": Field(default=True, help="Whether learned positions are added to tokens."),
        "layer_norm": Field(default=True, help="Whether layers normalise what they read."),
        "residual": Field(default=True, help="Whether layers add to what they read."),
        "tied": Field(default=False, help="Whether labels have the embeddings of tokens."),
        "freeze_embeddings": Field(
            default=False, help="Whether embeddings stay as they are drawn."
        ),
        "dropout": Field(
            default=0.0, low=0.0, high=0.9, help="The fraction that is dropped in training."
        ),
    }
    | language_model.FIELDS,
    check=_check,
)
