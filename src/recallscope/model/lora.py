"""A low-rank update of a model's matrices, by peft: the one file that imports it."""

from __future__ import annotations

import warnings
from typing import Any

from torch import nn

from recallscope.common.errors import ProblemError
from recallscope.common.extras import missing_explained
from recallscope.problem.problem import Problem


def with_low_rank(module: nn.Module, problem: Problem, usual: str | list[str]) -> nn.Module:
    """The module as it is, or frozen with an update of the problem's rank that learns.

    The update is scaled by 2, whatever the rank (`lora_alpha` is twice the rank).

    Args:
        module: what is updated.
        problem: with the fields `rank` and `target_modules`.
        usual: the modules that are updated if the problem names none.
    """
    rank, names = problem["rank"], problem["target_modules"].replace(",", " ").split()
    if not rank:
        return module
    with missing_explained():
        from peft import LoraConfig, get_peft_model
    transposed = any(type(layer).__name__ == "Conv1D" for layer in module.modules())  # of GPT-2
    config: Any = LoraConfig(
        r=rank, lora_alpha=2 * rank, target_modules=names or usual, fan_in_fan_out=transposed
    )
    try:
        with warnings.catch_warnings():  # of one library that the other calls by an old name
            warnings.simplefilter("ignore", FutureWarning)
            updated: nn.Module = get_peft_model(module, config)
    except ValueError as error:
        raise ProblemError(f"target_modules={problem['target_modules']}: {error}") from None
    return updated
