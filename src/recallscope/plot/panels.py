"""A picture as data: panels of series with bars. `picture_figure` draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """The kind of a series, which decides how it looks."""

    MEASURED = "measured"  # markers with bars
    THEORY = "theory"  # a line of closed forms, nothing fitted
    REFERENCE = "reference"  # a thin dashed grey line: a claim's law, a bound, chance


@dataclass(frozen=True)
class Series:
    """Points of one kind. `x` may be names, for panels of categories; `low` and `high` are bars.

    A bar that is open at one end has an infinite end.
    """

    label: str
    kind: Kind
    x: Sequence[float] | Sequence[str]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    colour: int | None = None
    """Series with the same number look alike; by default each has its place in the panel."""

    def __post_init__(self) -> None:
        bars = [end for end in (self.low, self.high) if end is not None]
        if len(bars) == 1 or any(len(values) != len(self.x) for values in (self.y, *bars)):
            raise ValueError(f"series {self.label!r} needs as many y, low and high as x")


def theory_line(
    label: str, points: Sequence[tuple[float, float]], colour: int | None = None
) -> Series:
    """A line of closed forms through points."""
    x, y = ([point[place] for point in points] for place in (0, 1))
    return Series(label, Kind.THEORY, x, y, colour=colour)


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One pair of axes."""

    title: str = ""
    x: str
    y: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False
    y_from: float | None = None
    """Where the axis starts; by default at the lowest point or bar."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Panels side by side, and a caption that says what is seen and how to read it."""

    caption: str
    panels: Sequence[Panel] = field(default_factory=tuple)
    title: str = ""
    """The result in a line or two."""
