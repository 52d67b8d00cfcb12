"""Ticks at round numbers: three at least on any axis, and never so many that their labels touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    Locator,
    LogLocator,
    MaxNLocator,
    NullLocator,
)

from recallscope.common.formatting import format_number

_FEWEST, _MOST = 3, 7
_LINEAR = [MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]) for most in (5, 4, 3, 2, 6, 8, 12)]
# By the least ratio of limits between which LogLocator surely finds two, and does not give up.
_FRONTS = {10.0: (1.0, 3.0), 5.0: (1.0, 2.0, 5.0), 2.5: (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)}


def set_ticks(axis: Axis, chosen: Sequence[float] = (), base: int = 10) -> None:
    """Label an axis at round numbers; at sizes that were chosen, if these are few.

    A logarithmic axis has its ticks at powers of the base, or at numbers between them where its
    range is short.
    """
    axis.set_major_locator(_RoundNumbers(chosen, base))
    axis.set_major_formatter(FuncFormatter(lambda value, _: format_number(value, 6)))
    axis.set_minor_locator(NullLocator())


class _RoundNumbers(Locator):
    """The first of several locators whose labels fit: matplotlib's own label too few, or touch."""

    def __init__(self, chosen: Sequence[float], base: int) -> None:
        self._log = [
            *([(1, FixedLocator(sorted(set(chosen))))] if chosen else []),
            *((base**2, LogLocator(base, numticks=most)) for most in range(_MOST, _FEWEST - 1, -1)),
            *((ratio, LogLocator(10, fronts)) for ratio, fronts in _FRONTS.items()),
        ]

    def __call__(self) -> list[float]:
        low, high = cast("Axis", self.axis).get_view_interval()
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        low, high = sorted((vmin, vmax))
        log = cast("Axis", self.axis).get_scale() == "log"
        of_log = [log_locator for ratio, log_locator in self._log if log and high >= ratio * low]
        many = []
        for locator in [*of_log, *_LINEAR]:
            values = np.asarray(locator.tick_values(low, high))
            spare = 1e-9 * (high - low)
            ticks = values[(low - spare <= values) & (values <= high + spare)].tolist()
            if len(ticks) >= _FEWEST:
                many.append(ticks)
        fit = (ticks for ticks in many if len(ticks) <= _MOST and self._fits(ticks, low, high))
        return next(fit, min(many, key=len, default=[]))

    def _fits(self, ticks: Sequence[float], low: float, high: float) -> bool:
        """By the space that matplotlib gives a label: two letters high, three wide."""
        axis = cast("Axis", self.axis)
        places = axis.get_transform().transform(np.array([low, *ticks, high]))
        gaps = np.diff(places[1:-1]) / (places[-1] - places[0]) * axis.get_tick_space()
        wide = np.array([len(format_number(tick, 6)) for tick in ticks])
        needed = (0.31 * (wide[1:] + wide[:-1]) + 0.7) / 3 if axis is axis.axes.xaxis else 0.85
        return bool(np.all(gaps >= needed))
