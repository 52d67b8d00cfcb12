"""The interface of a model: a module that is built for a problem, and gives every label a logit.

A model kind has all that differs between models: how it is built, its usual learning rate, which
weights decay, and how many there are. The model of the paper is one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from recallscope.parts.field import Field
from recallscope.problem import Problem, no_check

if TYPE_CHECKING:
    from recallscope.learning.learner import Setup

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


@dataclass(frozen=True, kw_only=True)
class Model:
    """A kind of model.

    Attributes:
        build: a module for a setup, which has the problem, the seed and, as `setup.instance`, the
            embeddings. What torch draws in it comes from the seed. The module is called with tokens
            (n×L) and the marked positions (n), and gives logits (n×vocab). One that reads ids is
            called with `input_ids` (n×T) alone, as language models are. It gives logits of every
            position, or an object that has them as `logits`.
        reads_ids: whether it is a map from `input_ids` to logits.
        takes_mark: whether one that reads ids can add a vector to a marked token. Where the trigger
            is a vector, it takes the marked positions as a second argument.
        fields: what it adds to problems.
        check: raises `ProblemError` for a problem that it cannot serve.
        closed_form: whether the formulas for one attention layer are right for it.
        batched: whether it is the model of the paper, which is trained in several runs at once.
        default_rate: the learning rate for problems that give none; None for that of the learner,
            which is chosen from the sizes of the model of the paper.
        parameter_groups: what of a module is trained, as groups that optimisers of torch take; by
            default biases, norms and embeddings do not decay.
        three_step_parts: from a module to its values and its attention, two lists of weights: those
            of the first and third of three steps, and those of the second. Without it, each of the
            steps moves all weights.
        parameters: how many numbers it has; by default those of a module that is built.
        name: needed only if it is passed as an object.
        version: raised when the same problem and seed give another record; part of record keys. Of
            an object it replaces the hash of its source.
    """

    build: Callable[[Setup], Any]
    reads_ids: bool = False
    fields: Mapping[str, Field] = field(default_factory=dict)
    check: Callable[[Problem], None] = no_check
    closed_form: bool = False
    takes_mark: bool = False
    batched: bool = False
    default_rate: Callable[[Problem], float | None] = usual_rate
    parameter_groups: Callable[[Any], list[dict[str, Any]]] | None = None
    three_step_parts: Callable[[Any], tuple[Iterable[Any], Iterable[Any]]] | None = None
    parameters: Callable[[Problem], Parameters] | None = None
    name: str = ""
    version: int | None = None
