"""A field that a part adds to problems."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field that a part adds to problems: its default, which also says its type, and its range.

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

    def checked(self, name: str, value: object) -> bool | int | float | str:
        """The value as the type of the default, or a `ValueError` that says what was expected."""
        kind = type(self.default)
        if kind is bool and isinstance(value, bool):
            return value
        if kind is str and isinstance(value, str) and (not self.choices or value in self.choices):
            return str(value)
        if kind in (int, float) and isinstance(value, Real) and not isinstance(value, bool):
            number = float(value)
            whole = kind is float or number.is_integer()
            low = -1e300 if self.low is None else self.low
            high = 1e300 if self.high is None else self.high
            if whole and low <= number <= high:
                return int(number) if kind is int else number
        raise ValueError(f"{name} must be {self._expected()}, not {value!r:.60}")

    def _expected(self) -> str:
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        words = {bool: "true or false", str: "a text", int: "a whole number", float: "a number"}
        low = "" if self.low is None else f" from {self.low}"
        high = "" if self.high is None else f" to {self.high}"
        return words[type(self.default)] + low + high
