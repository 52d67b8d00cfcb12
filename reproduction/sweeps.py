"""A sweep that statements rest on, in three sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from recallscope.common.checks import choice
from recallscope.measure.sweep_file import Sweep, sweep_from
from recallscope.problem.problem import Problem
from reproduction.predictions import first_seed_of

SIZES = ("small", "short", "full")
"""To see that it runs, for a first answer, and what the verdicts rest on."""


def runs(*, seeds: int, together: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """The tables of a sweep: every combination of the fields that have lists, at every seed.

    Fields in `together` have lists of one length and vary together.

    >>> runs(seeds=2, vocab=64, dim=[16, 32])
    {'seeds': 2, 'problem': {'vocab': 64}, 'grid': {'dim': [16, 32]}}
    """
    return {"seeds": seeds, **_tables(together, fields)}


def searches(
    *,
    find: str = "samples",
    accuracy: str = "recall",
    low: int,
    high: int,
    precision: float,
    budget: int,
    together: Mapping[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """The tables of searches for the size at which an accuracy crosses one half.

    No prior from closed forms is used, as they are judged.
    """
    critical = {"for": find, "accuracy": accuracy, "target": 0.5, "low": low, "high": high}
    how = {"precision": precision, "budget": budget, "theory": False}
    return {**_tables(together, fields), "critical": critical | how}


def _tables(together: Mapping[str, Any] | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    varied = {name: value for name, value in fields.items() if isinstance(value, list)}
    fixed = {name: value for name, value in fields.items() if name not in varied}
    tables = {"problem": fixed, "grid": varied, "zip": together or {}}
    return {name: table for name, table in tables.items() if table}


@dataclass(frozen=True, kw_only=True)
class SizedSweep:
    """Problems and seeds in three sizes, each with the tables of a sweep file of recallscope.

    Attributes:
        name: in the table of runs.
        first_seed: of the small and the short size. The full size adds a number made of the hash
            of the predictions to it.
        small: seconds of work.
        short: minutes of work.
        full: what the verdicts rest on.
        measure: what is measured instead of a run's accuracies, from a problem and a seed to
            numbers by name; None for runs.
    """

    name: str
    first_seed: int
    small: Mapping[str, Any]
    short: Mapping[str, Any]
    full: Mapping[str, Any]
    measure: Callable[[Problem, int], dict[str, float]] | None = None

    def of_size(self, size: str) -> Sweep:
        """The sweep of one size.

        >>> from reproduction.statements.products import RANDOM_LONG
        >>> RANDOM_LONG.of_size("small").fixed["vocab"]
        128
        """
        tables = {"small": self.small, "short": self.short, "full": self.full}
        seed = self.first_seed
        if choice("size", size, SIZES) == "full":
            seed += first_seed_of(self.name)
        return sweep_from({**tables[size], "seed": seed})
