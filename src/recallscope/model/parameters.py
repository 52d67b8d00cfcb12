"""How many numbers a model has, without the memory for them."""

from __future__ import annotations

import torch
from torch import nn

from recallscope.model.kind import Parameters
from recallscope.model.setup import Setup
from recallscope.problem.problem import Problem


def parameters_of(problem: Problem, dtype: str = "float32") -> Parameters:
    """How many numbers the model of a problem has: as it says, or as a module without memory has.

    >>> parameters_of(Problem(vocab=64, samples=1, dim=8, length=4))
    Parameters(total=1168, trained=128, embedding=1040)
    """
    kind = problem.part("model")
    parameters: Parameters | None = kind.number_of_parameters(problem)
    if parameters is not None:
        return parameters
    setup = Setup(problem=problem, seed=0, dtype=dtype)
    _ = setup.instance  # as it is, and not without memory
    with torch.device("meta"):
        module: nn.Module = kind.build(setup)
    total = sum(weight.numel() for weight in module.parameters())
    trained = sum(weight.numel() for weight in module.parameters() if weight.requires_grad)
    return Parameters(total, trained, sum(table.numel() for table in embedding_tables(module)))


def embedding_tables(module: nn.Module) -> list[nn.Parameter]:
    """The tables of a module that ids are looked up in, each once.

    >>> len(embedding_tables(nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 10))))
    1
    """
    tables = {
        id(table): table
        for part in module.modules()
        if isinstance(part, nn.Embedding)
        for table in part.parameters(recurse=False)
    }
    return list(tables.values())
