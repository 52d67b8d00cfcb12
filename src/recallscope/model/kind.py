"""The interface of a model: a module that is built for a problem, and gives every label a logit.

A model kind has all that differs between models: how it is built, its usual learning rate, which
weights decay, and how many there are. The model of the paper is one of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from recallscope.problem.part import Part
from recallscope.problem.problem import Problem

if TYPE_CHECKING:
    from recallscope.model.setup import Setup

_USUAL_RATES = {"adam": 1e-3, "adamw": 1e-3, "gd": 0.1, "sgd": 0.1, "muon": 0.02, "polar": 0.02}


class Parameters(NamedTuple):
    """How many numbers a model has: in all, trained, and in embeddings."""

    total: int
    trained: int
    embedding: int


def usual_rate(problem: Problem) -> float | None:
    """The learning rate that is usual for modules of any kind; None for unknown learners.

    >>> usual_rate(Problem(vocab=64, samples=100, dim=8, length=4, learner="adam"))
    0.001
    """
    return _USUAL_RATES.get(problem.learner)


@dataclass(frozen=True)
class Model(Part, ABC):
    """A kind of model.

    Attributes:
        reads_ids: whether it is a map from `input_ids` to logits.
        takes_mark: whether one that reads ids can add a vector to a marked token. Where the trigger
            is a vector, it takes the marked positions as a second argument.
        closed_form: whether the formulas for one attention layer are right for it.
        batched: whether it is the model of the paper, which is trained in several runs at once.
    """

    kind_of_part = "model"
    reads_ids: ClassVar[bool] = False
    takes_mark: ClassVar[bool] = False
    closed_form: ClassVar[bool] = False
    batched: ClassVar[bool] = False

    @abstractmethod
    def build(self, setup: Setup) -> Any:
        """A module for a setup: the problem, the seed and, as `setup.instance`, the embeddings.

        What torch draws in it comes from the seed. The module is called with tokens (n×L) and the
        marked positions (n), and gives logits (n×vocab). One that reads ids is called with
        `input_ids` (n×T) alone, as language models are. It gives logits of every position, or an
        object that has them as `logits`.
        """

    def default_rate(self, problem: Problem) -> float | None:
        """The learning rate for problems that give none.

        None is for that of the learner, which is chosen from the sizes of the model of the paper.
        """
        return usual_rate(problem)

    def parameter_groups(self, module: Any) -> list[dict[str, Any]] | None:
        """What of a module is trained, as groups that optimisers of torch take.

        None is for all of it, of which biases, norms and embeddings do not decay.
        """
        return None

    def three_step_parts(self, module: Any) -> tuple[Iterable[Any], Iterable[Any]] | None:
        """The weights of a module that are values, and those that are attention.

        The first and third of three steps move the former, and the second moves the latter. None
        is for all weights at each step.
        """
        return None

    def number_of_parameters(self, problem: Problem) -> Parameters | None:
        """How many numbers it has; None to count those of a module that is built."""
        return None
