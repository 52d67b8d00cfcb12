"""What a run takes: a prediction that a learner makes of its own runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """A prediction: multiply-adds of dense products, peak memory, and time on one thread.

    >>> Cost(engine="stream", multiply_adds=1e9, memory_bytes=4e8, seconds=0.04).engine
    'stream'
    """

    engine: str
    multiply_adds: float
    memory_bytes: float
    seconds: float
    known: bool = True
    """Whether this is a prediction, and not a default for unknown costs."""


def unknown_cost(engine: str) -> Cost:
    """The default for a run of unknown cost: no memory, and a second."""
    return Cost(engine=engine, multiply_adds=0.0, memory_bytes=0.0, seconds=1.0, known=False)
