"""One experiment of a sweep, the key that names it, and the work of running some of them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from recallscope import experiment
from recallscope.learning.cost import choose_engine
from recallscope.problem import SCHEMA_VERSION, Problem, ProblemError
from recallscope.record import Record
from recallscope.sweeps.limits import Limits


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
        """Cut over workers a batch is streamed: tables of counts would be too large to send."""
        cut = self.sharded and problem.regime == "limit" and math.isfinite(problem.samples)
        return "stream" if cut else self.engine


def key_maker(settings: Settings) -> Callable[[tuple[Problem, int]], bytes]:
    """A function from cells to content keys: 16 bytes of hash and the seed.

    Engines and kinds of numbers agree to rounding only, and a test on fewer samples is another
    test: they are part of the key, so that a store never takes one record for another.

    >>> problem = Problem(vocab=64, samples=512, dim=32, length=4)
    >>> key = key_maker(Settings())
    >>> key(Cell(problem, 0)) == key(Cell(problem.replace(dim=32), 0)) != key(Cell(problem, 1))
    True
    """
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


def check_problem(problem: object, settings: Settings) -> None:
    """Raise unless this is a problem that can be run with these settings."""
    if not isinstance(problem, Problem):
        raise ProblemError(f"a cell is a Problem and a seed, not {problem!r:.60} and a seed")
    experiment.check(
        problem,
        engine=settings.engine_for(problem),
        test_samples=settings.test_samples,
        dtype=settings.dtype,
        device=settings.device,
    )


@dataclass(frozen=True)
class RunCells:
    """Run cells one after another; a piece of work that travels to a worker."""

    cells: tuple[Cell, ...]
    settings: Settings
    limits: Limits

    def do(self) -> list[Record]:
        """The records, in the order of the cells."""
        return [self._run(cell) for cell in self.cells]

    def _run(self, cell: Cell) -> Record:
        how = self.settings
        return self.limits.hold(
            lambda: experiment.run(
                cell.problem,
                cell.seed,
                engine=how.engine_for(cell.problem),
                test_samples=how.test_samples,
                dtype=how.dtype,
                device=how.device,
            ),
            lambda reason: self.failed(cell, reason),
        )

    def failed(self, cell: Cell, reason: str) -> Record:
        """The record of a cell that something outside of it ended."""
        how = self.settings
        return experiment.failed(
            cell.problem,
            cell.seed,
            reason,
            engine=how.engine_for(cell.problem),
            dtype=how.dtype,
            device=how.device,
        )
