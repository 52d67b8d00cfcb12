"""The model of the paper: one attention layer, alone or before a frozen random MLP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.models.kind import Model, Parameters
from recallscope.problem import Problem

if TYPE_CHECKING:
    from recallscope.learning.learner import Setup
    from recallscope.models.transformer import Transformer


def _build(setup: Setup) -> Transformer:
    from recallscope.models.transformer import Transformer

    return Transformer(setup.instance)


def _parameters(problem: Problem) -> Parameters:
    """Embeddings of tokens, labels, trigger and end; both matrices that learn; a frozen one."""
    embedding = 2 * (problem.vocab + 1) * problem.dim
    trained = problem.dim * (problem.dim + problem.hidden)
    frozen = (problem.width or 0) * problem.dim
    return Parameters(embedding + trained + frozen, trained, embedding)


PART = Model(
    build=_build,
    closed_form=True,
    batched=True,
    default_rate=lambda problem: None,
    three_step_parts=lambda module: ([module.V], [module.W]),
    parameters=_parameters,
)
