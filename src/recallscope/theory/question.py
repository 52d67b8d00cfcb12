"""An engineer's question about a model of any kind, and what a law says of it.

A `Problem` is one experiment of this package. A question may be about a model that no experiment
here has. Then only the number of trained parameters is known, and laws of capacity answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from recallscope.problem.frequencies import frequent_fraction
from recallscope.problem.problem import Problem


class Limit(StrEnum):
    """The limit of recall."""

    CAPACITY = "capacity"
    EXPOSURES = "exposures"
    ATTENTION = "attention"
    UNSEEN = "facts never seen"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Question:
    """How many of some facts will a model recall, trained in some way?

    Attributes:
        method: pretrain, full, lora or memory.
        facts: how many there are.
        answers: how many different answers a fact may have.
        exposures: how often each fact is seen in training.
        context: tokens in which a fact is to be found.
        trained: parameters that are trained.
        zipf_exponent: of the frequencies of facts; 0 if all are seen equally often.
        precision: of the weights when the model answers.
        dim: dimension of embeddings.
        layers: how many there are.
        gated: whether MLPs have a third matrix.
        partial: whether a LoRA is of some matrices only.
        width: of an MLP, if there is one.
        rank: of an update of low rank, if it is one.
        problem: the same as an experiment of this package, if it is one.

    >>> Question(method="full", facts=1024, answers=1024, exposures=100, trained=10**6).bits
    10.0
    """

    method: str
    facts: int
    answers: int
    exposures: float
    trained: int
    context: int = 1
    zipf_exponent: float = 0.0
    precision: str = "bfloat16"
    dim: int = 0
    layers: int = 1
    gated: bool = False
    partial: bool = False
    width: int | None = None
    rank: int | None = None
    problem: Problem | None = None

    def recalled(self, stored: float) -> float:
        """The recall if so many facts are stored: the most frequent ones, if they differ."""
        return frequent_fraction(stored, self.facts, self.zipf_exponent)

    @property
    def bits(self) -> float:
        """Bits for each fact: which of the answers is right."""
        return math.log2(max(self.answers, 2))


PRECISIONS = ("float32", "bfloat16", "float16")
"""Precisions of weights that are not quantised."""


class Ends(NamedTuple):
    """A number and the ends of an interval around it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """The capacity by a law, for a question of `plan`.

    Attributes:
        recall: the fraction of right answers, facts asked for as often as seen; 90 % interval.
        facts: how many facts the model could store, from the fewest to the most.
        limit: what limits recall.
        extrapolated: what of the question is unlike what the law was tested at, in words.
        said: what the law says, as a sentence.
        exposures: of each fact until recall is 0.9, by Adam on all facts at once; if it is known.
    """

    recall: Ends
    facts: Ends
    limit: Limit
    extrapolated: list[str] = field(default_factory=list)
    said: str = ""
    exposures: Ends | None = None
