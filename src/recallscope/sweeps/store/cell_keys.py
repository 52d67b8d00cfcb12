"""The keys that name cells in a store: the key of the problem, how it is run, and the seed."""

from __future__ import annotations

import hashlib

from recallscope.experiment.cell import Settings
from recallscope.experiment.record import Record
from recallscope.problem.problem import Problem


class CellKeys:
    """The content keys of cells that are run with some settings: 16 bytes of hash and the seed.

    Engines and dtypes agree to rounding only, and a test on fewer samples is another test. So how a
    problem is run is in its key. A custom experiment settles all of this itself, and is in the key
    by its name.

    >>> problem = Problem(vocab=64, samples=512, dim=32, length=4)
    >>> key = CellKeys(Settings())
    >>> key((problem, 0)) == key((problem.replace(dim=32), 0)) != key((problem, 1))
    True
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._last: Problem | None = None
        self._digest = b""

    def __call__(self, cell: tuple[Problem, int]) -> bytes:
        problem, seed = cell
        return self.digest(problem) + seed.to_bytes(8, "big")

    def digest(self, problem: Problem) -> bytes:
        """Return the bytes that the keys of a problem at all seeds begin with."""
        if problem is not self._last:  # seeds of one problem come in turn, a million times
            self._digest, self._last = _digest(problem.key, self._how(problem)), problem
        return self._digest

    def _how(self, problem: Problem) -> str:
        # With torch, which reading a store does not need.
        from recallscope.three_step.cost import choose_engine

        settings = self._settings
        if settings.own is not None:
            return settings.own.measure
        engine = choose_engine(problem, settings.engine_for(problem))
        return _run_as(engine, settings.dtype, settings.test_samples, settings.device)


def key_of(record: Record) -> bytes:
    """The key for a record that was tested."""
    made = record.provenance
    how = record.measure
    if how is None:
        how = _run_as(made.engine, made.dtype, record.test_samples, made.device)
    return _digest(record.problem.key_with(made.part_versions), how) + record.seed.to_bytes(
        8, "big"
    )


def _run_as(engine: str | None, dtype: str, test_samples: int | None, device: str) -> str:
    return f"{engine} {dtype} {test_samples} {device}"


def _digest(problem_key: str, how: str) -> bytes:
    return hashlib.sha256(f"{problem_key} {how}".encode()).digest()[:16]
