"""One experiment of a sweep, and how it is run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from recallscope.problem import Problem


class Cell(NamedTuple):
    """A problem and a seed."""

    problem: Problem
    seed: int


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the cells of a sweep are run: with the problem and the seed, all a record depends on."""

    engine: str = "auto"
    dtype: str = "float32"
    test_samples: int = 4096
    device: str = "cpu"
    sharded: bool = False
    measure: str | None = None
    """What to measure instead of running the experiment to its end, by its name."""

    def engine_for(self, problem: Problem) -> str:
        """The engine to ask for."""
        return "stream" if self.sharded and is_streamed(problem) else self.engine


def is_streamed(problem: Problem) -> bool:
    """Whether, cut over workers, its batch is streamed: tables of counts are too large to send."""
    return problem.regime == "limit" and math.isfinite(problem.samples)
