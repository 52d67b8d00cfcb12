"""The model of the paper: one attention layer, alone or before a frozen random MLP."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recallscope.model.kind import Model, Parameters
from recallscope.problem.problem import Problem

if TYPE_CHECKING:
    from recallscope.model.setup import Setup
    from recallscope.model.transformer import Transformer


@dataclass(frozen=True)
class PaperTransformer(Model):
    """One attention layer over frozen embeddings."""

    closed_form = True
    batched = True

    def build(self, setup: Setup) -> Transformer:
        """The model with its matrices at zero."""
        from recallscope.model.transformer import Transformer

        return Transformer(setup.instance)

    def default_rate(self, problem: Problem) -> None:
        """That of the learner."""

    def three_step_parts(self, module: Any) -> tuple[Iterable[Any], Iterable[Any]]:
        """The value matrix and the matrix of attention."""
        return [module.V], [module.W]

    def number_of_parameters(self, problem: Problem) -> Parameters:
        """Embeddings of tokens, labels, trigger and end; both matrices that learn; a frozen one."""
        embedding = 2 * (problem.vocab + 1) * problem.dim
        trained = problem.dim * (problem.dim + problem.hidden)
        frozen = (problem.width or 0) * problem.dim
        return Parameters(embedding + trained + frozen, trained, embedding)


PART = PaperTransformer()
