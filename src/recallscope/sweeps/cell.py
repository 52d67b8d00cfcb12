"""One experiment of a sweep, how it is run, and the key that names it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from recallscope.problem import SCHEMA_VERSION, Problem


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

    def engine_for(self, problem: Problem) -> str:
        """The engine to ask for."""
        return "stream" if self.sharded and is_streamed(problem) else self.engine


def is_streamed(problem: Problem) -> bool:
    """Whether, cut over workers, its batch is streamed: tables of counts are too large to send."""
    return problem.regime == "limit" and math.isfinite(problem.samples)


def key_maker(settings: Settings) -> Callable[[tuple[Problem, int]], bytes]:
    """A function from cells to content keys: 16 bytes of hash and the seed.

    Engines and kinds of numbers agree to rounding only, and a test on fewer samples is another
    test: they are part of the key, so that a store never takes one record for another.

    >>> problem = Problem(vocab=64, samples=512, dim=32, length=4)
    >>> key = key_maker(Settings())
    >>> key(Cell(problem, 0)) == key(Cell(problem.replace(dim=32), 0)) != key(Cell(problem, 1))
    True
    """
    from recallscope.learning.cost import choose_engine  # with torch, which reading does not need

    last: Problem | None = None
    digest = b""

    def key(cell: tuple[Problem, int]) -> bytes:
        nonlocal last, digest
        problem, seed = cell
        if problem is not last:  # seeds of one problem come in turn, a million times
            engine = choose_engine(problem, settings.engine_for(problem))
            how = f"{engine} {settings.dtype} {settings.test_samples} {settings.device}"
            text = f"recallscope cell {SCHEMA_VERSION} {problem.to_json()} {how}"
            digest = hashlib.sha256(text.encode()).digest()[:16]
            last = problem
        return digest + seed.to_bytes(8, "big")

    return key
