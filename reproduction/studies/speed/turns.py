"""Ways of doing the same work, timed in turns, and the ratios of their times.

What else a machine does comes and goes. A ratio of two times taken at different moments is one of
moments too, so each ratio is of times of the same turn, and how much it varies from turn to turn
says whether there is anything to report.
"""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from recallscope.common.formatting import format_number

FEWEST_TURNS = 5
"""Fewer do not hold the median between them with 90 %."""

TOO_WIDE = 1.5
"""Highest over lowest end of an interval, beyond which a ratio is not reported."""


@dataclass(frozen=True)
class Ratio:
    """The median of a ratio over turns, with its 90 % interval; or no median, and the reason.

    >>> Ratio.of_turns([2.0, 2.1, 1.9, 2.0, 2.2], [1.0, 1.0, 1.0, 1.0, 1.0])
    Ratio(median=2.0, low=1.9, high=2.2, reason=None)
    """

    median: float | None
    low: float
    high: float
    reason: str | None = None

    @classmethod
    def of_turns(cls, over: Sequence[float], under: Sequence[float]) -> Ratio:
        """Of two times in each turn. No median where the interval is wider than `TOO_WIDE`."""
        ratios = sorted(a / b for a, b in zip(over, under, strict=True))
        left_out = _left_out(len(ratios))
        low, high = ratios[left_out], ratios[-1 - left_out]
        if high <= TOO_WIDE * low:
            return cls(statistics.median(ratios), low, high)
        return cls(
            None,
            low,
            high,
            f"too noisy to say: the ratio varied from {format_number(ratios[0])} to "
            f"{format_number(ratios[-1])} over {len(ratios)} turns; run it on a quieter machine "
            "or with more --repeats",
        )


def take_turns(
    ways: Mapping[str, Callable[[], object]],
    turns: int,
    clock: Callable[[], float],
    progress: Callable[[float, float], None],
) -> dict[str, list[float]]:
    """The seconds of every way in every turn, after one turn to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    done = 0
    for turn in range(turns + 1):
        for name, way in ways.items():
            progress(done, (turns + 1) * len(ways))
            done += 1
            started = clock()
            way()
            took = max(clock() - started, 1e-9)  # a coarse clock may see no time pass
            if turn:
                seconds[name].append(took)
    return seconds


def _left_out(turns: int) -> int:
    """How many turns at either end the median is not beyond, with 90 % or more.

    Each turn is as likely to be below the true median as above it, whatever the noise is like.

    >>> [_left_out(turns) for turns in (5, 7, 8, 11, 20)]
    [0, 0, 1, 2, 5]
    """
    beyond, count = 1, 0
    while True:
        beyond += math.comb(turns, count + 1)
        if beyond > 0.05 * 2**turns:
            return count
        count += 1


def load_average() -> float | None:
    """How many processes ran or waited for a core, on average over the last minute, if known."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None
