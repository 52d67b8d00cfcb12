"""Functions and objects whose hashes of 0.2 are known; an edit here is an edit of them."""

from __future__ import annotations

import abc
import collections.abc
import enum
import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from recallscope.experiment.metric import Metric
from recallscope.tasks.kind import Task as TaskPart
from recallscope.tasks.recall import RecallTask as Task  # as it was called when hashes were taken

STEPS = {"warm-up": 3, "rates": (0.1, 0.2)}


def helper(x, *, factor=2):
    """A helper."""
    return math.sqrt(x) * factor + STEPS["warm-up"]


def train(problem, seed):
    import numpy.random

    return numpy.random.default_rng(seed).random() * helper(problem.dim), len(STEPS)


def closure(rate):
    def run(problem, seed):
        return rate * helper(1.0), 10

    return run


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Pair(NamedTuple):
    first: int
    second: float = 0.5


class Base(abc.ABC):
    __slots__ = ("rate",)
    scale = 3

    @abc.abstractmethod
    def run(self, problem, seed): ...


class Trainer(Base):
    def __init__(self, rate):
        self.rate = rate

    def run(self, problem, seed):
        return self.rate * self.scale, Pair(1), Colour.RED


@dataclass(frozen=True)
class Settings:
    rate: float = 0.1
    layers: tuple[int, ...] = (1, 2)

    def __call__(self, problem, seed):
        return self.rate, sum(self.layers)


def measure(setup, logits):
    return float(np.mean([1.0, helper(4.0)]))


def make(problem, seed):
    return Task(problem.vocab, problem.length, seed)


THINGS: dict[str, collections.abc.Callable | object] = {
    "function": train,
    "closure": closure(0.5),
    "partial": partial(train, seed=1),
    "method": Trainer(0.5).run,
    "dataclass": Settings(rate=0.3),
    "values": [{"a", "b"}, {"x": np.arange(3)}, Colour.BLUE, Pair(2), 1.5, "text"],
    "metric": Metric(name="mine", measure=measure),
    "task": TaskPart(name="mine", make=make),
}
