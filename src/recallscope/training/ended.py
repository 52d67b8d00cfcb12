"""How a training ended."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum


class Ended(IntEnum):
    """How a training ended; the metric `ended` is its number. All of them are results.

    >>> print(Ended.BUDGET.words)
    stopped, still learning,
    """

    CONVERGED = 0
    BUDGET = 1
    DIVERGED = 2

    @property
    def words(self) -> str:
        """For a reader."""
        return _WORDS[self]


_WORDS = {
    Ended.CONVERGED: "converged",
    Ended.BUDGET: "stopped, still learning,",
    Ended.DIVERGED: "diverged: the loss rose; make the learning rate smaller;",
}


def how_many_ended(numbers: Sequence[float]) -> str:
    """How trainings ended, from the metric of each.

    >>> how_many_ended([0.0, 0.0, 1.0])
    '2 converged, 1 stopped by its budget, 0 diverged'
    """
    counts = [sum(int(number) == kind for number in numbers) for kind in Ended]
    phrases = ("converged", "stopped by its budget", "diverged")
    return ", ".join(f"{count} {phrase}" for count, phrase in zip(counts, phrases, strict=True))
