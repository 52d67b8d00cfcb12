"""A field that a part adds to problems."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from numbers import Real
from typing import TypeVar

from recallscope.problem.long_values import named

TypeOfField = TypeVar("TypeOfField", bool, int, float, str)
FIELD_NAME = r"[a-z][a-z0-9_]{0,49}"
LONGEST_TEXT = 200
"""Bytes of any text that is kept but a reason."""
ACTED_ON = r"[\x00-\x1f\x7f\[\]]"
"""Characters that a terminal or a table acts on."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field that a part adds to problems: its default, which also says its type, and its range.

    Attributes:
        default: its value where none is given; its type is that of all values.
        low: the smallest number.
        high: the largest.
        choices: the texts that there are.
        help: what it is, in a sentence.
        monotone: 1 if recall rises with it, -1 if it falls, None if neither is known.
        scale: of it as an axis, log or linear.
        required: whether a problem needs it; the default then only says the type.
        nullable: whether it may be None.
        long: json or folder, for a text that problems name by a hash of its content.

    >>> Field(default=5.0, low=2.0).checked("degrees", 3)
    3.0
    >>> Field(default=5.0, low=2.0).checked("degrees", 1)
    Traceback (most recent call last):
    ValueError: degrees must be a number from 2.0, not 1
    """

    default: bool | int | float | str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    help: str = ""
    monotone: int | None = None
    scale: str = "log"
    required: bool = False
    nullable: bool = False
    long: str = ""

    @property
    def numeric(self) -> bool:
        """Whether it can be an axis."""
        return type(self.default) in (int, float)

    @property
    def grows(self) -> bool:
        """Whether recall rises with it: then the smallest that will do is wanted."""
        return self.monotone == 1

    def place(self, value: float) -> float:
        """Where a value lies on an axis: its logarithm, or itself where the scale is linear."""
        return math.log(value) if self.scale == "log" else float(value)

    def value_at(self, place: float) -> int | float:
        """The value at a place of an axis: a whole number if the field is one.

        >>> Field(default=1, low=1).value_at(math.log(7.2)), Field(default=1.0).value_at(0.0)
        (7, 1.0)
        """
        value = math.exp(place) if self.scale == "log" else place
        value = min(max(value, -math.inf if self.low is None else self.low), self.most)
        return round(value) if type(self.default) is int else float(f"{value:.6g}")

    @property
    def most(self) -> float:
        """The largest value."""
        return math.inf if self.high is None else self.high

    def __post_init__(self) -> None:
        if type(self.default) not in (bool, int, float, str):
            raise TypeError(
                f"the default of a field is a bool, int, float or str, not {self.default!r}"
            )
        if self.monotone not in (None, 1, -1) or self.scale not in ("log", "linear"):
            raise ValueError(
                "a field is monotone 1, -1 or None and of scale log or linear, not "
                f"{self.monotone!r:.60} and {self.scale!r:.60}"
            )
        self.checked("the default of a field", self.default)

    def checked(self, name: str, value: object) -> bool | int | float | str:
        """The value as the type of the default, or a `ValueError` that says what was expected."""
        if self.long:
            return named(self.long, name, value)
        kind = type(self.default)
        number = float("nan")
        if kind in (int, float) and isinstance(value, Real) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
        if kind is bool and isinstance(value, bool):
            return value
        if kind is str and isinstance(value, str) and self._fits(value):
            return str(value)
        if kind is int and number.is_integer() and abs(number) <= 2**53 and self._inside(number):
            return int(number)
        if kind is float and abs(number) <= 1e300 and self._inside(number):
            return number
        raise ValueError(f"{name} must be {self._expected()}, not {value!r:.60}")

    def _inside(self, value: float) -> bool:
        above = self.low is None or value >= self.low
        return bool(above and (self.high is None or value <= self.high))

    def _fits(self, text: str) -> bool:
        """A text is kept and shown: it is short, and acts on no terminal and no table."""
        plain = len(text.encode()) <= LONGEST_TEXT and not re.search(ACTED_ON, text)
        return plain and (not self.choices or text in self.choices)

    def _expected(self) -> str:
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        words = {
            bool: "true or false",
            str: "a short text without brackets",
            int: "a whole number",
            float: "a number",
        }
        low = "" if self.low is None else f" from {self.low}"
        high = "" if self.high is None else f" to {self.high}"
        return words[type(self.default)] + low + high
