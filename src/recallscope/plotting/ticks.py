"""Ticks at round numbers: three at least on any axis, and never so many that their labels touch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from matplotlib.ticker import FuncFormatter, Locator, MaxNLocator, NullLocator

from recallscope.common.formatting import format_number

if TYPE_CHECKING:
    from matplotlib.axis import Axis

_FEWEST, _MOST = 3, 7
_TEXT = 7  # the size of labels, in points
_LETTER, _GAP = 0.62 * _TEXT, 0.7 * _TEXT  # the width of a digit, and what lies between labels
_ROUND = [1, 2, 2.5, 5, 10]


def set_ticks(axis: Axis, chosen: Sequence[float] = (), base: int = 10) -> None:
    """Label an axis at round numbers; at sizes that were chosen, if these are few.

    A logarithmic axis has its ticks at powers of the base, or at numbers between them where its
    range is short.
    """
    axis.set_major_locator(_RoundNumbers(chosen, base))
    axis.set_major_formatter(FuncFormatter(lambda value, _: format_number(value, 6)))
    axis.set_minor_locator(NullLocator())


class _RoundNumbers(Locator):
    """Looks again whenever the limits or the size of the axes change."""

    def __init__(self, chosen: Sequence[float], base: int) -> None:
        self._chosen, self._base = sorted(set(chosen)), base

    def __call__(self) -> list[float]:
        low, high = cast("Axis", self.axis).get_view_interval()
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        low, high = sorted((vmin, vmax))
        log = cast("Axis", self.axis).get_scale() == "log"
        many = _of_log_axis(low, high, self._chosen, self._base) if log else _of_axis(low, high)
        fewest: list[float] = []
        for ticks in many:
            if len(ticks) < _FEWEST:
                continue
            if len(ticks) <= _MOST and self._fits(ticks, low, high, log):
                return ticks
            fewest = ticks if not fewest or len(ticks) < len(fewest) else fewest
        return fewest

    def _fits(self, ticks: Sequence[float], low: float, high: float, log: bool) -> bool:
        axis = cast("Axis", self.axis)
        across = axis is axis.axes.xaxis
        box = axis.axes.bbox
        length = (box.width if across else box.height) * 72 / axis.axes.figure.dpi
        places = np.array([low, *ticks, high])
        places = np.log(places) if log else places
        places = (places[1:-1] - places[0]) / (places[-1] - places[0]) * length
        sizes = np.array([_LETTER * len(format_number(t, 6)) if across else _TEXT for t in ticks])
        return bool(np.all(np.diff(places) >= (sizes[1:] + sizes[:-1]) / 2 + _GAP))


def _of_log_axis(
    low: float, high: float, chosen: Sequence[float], base: int
) -> Iterator[list[float]]:
    """Sets of ticks, those that are to be taken if they fit first."""
    yield [size for size in chosen if low <= size <= high]
    first, last = math.ceil(math.log(low, base)), math.floor(math.log(high, base) + 1e-9)
    for stride in range(1, 1 + max(last - first, 0) // (_FEWEST - 1)):
        start = -(-first // stride) * stride
        yield [float(base) ** power for power in range(start, last + 1, stride)]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for fronts in ((1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)):
        ticks = [front * 10.0**decade for decade in decades for front in fronts]
        yield [tick for tick in ticks if low <= tick <= high]
    yield from _of_axis(low, high)


def _of_axis(low: float, high: float) -> Iterator[list[float]]:
    spare = 1e-9 * (high - low)
    for most in (5, 4, 3, 2, 6, 8, 12):
        ticks = MaxNLocator(most, steps=_ROUND).tick_values(low, high)
        yield [float(tick) for tick in ticks if low - spare <= tick <= high + spare]
