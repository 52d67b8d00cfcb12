"""Values as they are expected, or a sentence that says what was."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from contextlib import suppress
from numbers import Integral, Real

from recallscope.common.errors import ProblemError, did_you_mean

LARGEST_SIZE = 2**53
"""Sizes up to here are exact as floating-point numbers, which the closed forms rely on."""

LARGEST_SEED = 2**63 - 1


def whole_number(
    name: str, value: object, smallest: int, largest: int = LARGEST_SIZE, instead: str = ""
) -> int:
    """The value as an int, or an error that says what was expected: 1e6 and NumPy's will do.

    >>> whole_number("dim", 64.0, smallest=1)
    64
    """
    if type(value) is int and smallest <= value <= largest:
        return value  # nearly always, and soon: each problem has five
    number = smallest - 1
    if isinstance(value, bool):
        pass  # to Python it is a number
    elif isinstance(value, Integral):
        number = int(value)
    elif isinstance(value, Real) and float(value).is_integer() and abs(float(value)) <= 2**53:
        number = int(float(value))
    if smallest <= number <= largest:
        return number
    top = {LARGEST_SIZE: "2^53", LARGEST_SEED: "2^63 - 1"}.get(largest, largest)
    meant = ""
    if isinstance(value, str) and re.fullmatch(r"[\d._]{1,30}[Kmb]", value):
        meant = f"; did you mean {value.swapcase()}?"  # thousand, million and billion: k, M, B
    expected = f"a whole number from {smallest} to {top}{instead}"
    raise ProblemError(f"{name} must be {expected}, not {shown(value)}{meant}")


def choice(name: str, value: object, choices: Collection[str]) -> str:
    """The value, if it is one of the choices, or an error that names the closest.

    >>> choice("regime", "litral", ["limit", "literal"])
    Traceback (most recent call last):
    recallscope.ProblemError: regime must be one of limit, ...; did you mean literal?
    """
    if not isinstance(value, str) or value not in choices:
        raise ProblemError(
            f"{name} must be one of {', '.join(choices)}, not {shown(value)}"
            f"{did_you_mean(value, choices)}"
        )
    return str(value)  # plain: it is sent to processes that may not have the class of the value


def shown(value: object) -> str:
    """A value as an error shows it, however long it was."""
    try:
        text = repr(value).replace("\n", " ")
    except ValueError:  # Python writes out no integer of more than 4,300 digits
        text = "a number of thousands of digits"
    except RecursionError:
        text = "something nested too deeply to be shown"
    return text if len(text) <= 60 else f"{text[:57]}..."


def checked_samples(value: object) -> float:
    """A number of samples, which may be infinite."""
    if isinstance(value, (str, float)) and value in ("inf", math.inf):
        return math.inf
    return whole_number("samples", value, 1, instead=", or inf")


def step_size(name: str, value: object) -> float:
    """A positive number that is not too large."""
    number = math.nan
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):  # of a whole number of hundreds of digits
            number = float(value)
    if 0 < number < 1e300:
        return number
    raise ProblemError(f"{name} must be a positive number below 1e300, not {shown(value)}")


def check_target(target: object, name: str = "the target") -> None:
    """Raise unless an accuracy can cross such a target."""
    if not (isinstance(target, Real) and is_number(target) and 0 < float(target) < 1):
        raise ProblemError(f"{name} must be an accuracy between 0 and 1, not {shown(target)}")


def is_number(value: object) -> bool:
    """Whether it is a real number that fits a float."""
    try:
        return isinstance(value, Real) and float(value) is not None
    except OverflowError:  # a whole number of hundreds of digits
        return False
