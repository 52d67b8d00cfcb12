"""Numbers, sizes and times as people read them."""

from __future__ import annotations

import math

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def format_number(value: float, digits: int = 3) -> str:
    """A number as people read it, to so many digits; whole parts are never cut.

    >>> [format_number(value) for value in (4096, 0.12345, -1.5, 2.5e-7, 1e6, float("inf"))]
    ['4096', '0.123', '−1.5', '2.5×10⁻⁷', '10⁶', '∞']
    """
    if math.isnan(value):
        return "–"
    sign, size = "−" if value < 0 else "", abs(value)
    if math.isinf(size):
        return f"{sign}∞"
    if size == 0:
        return "0"
    if 10**digits <= size < 1e6:
        return f"{sign}{size:.0f}"
    if 1e-4 <= size < 10**digits:
        return f"{sign}{float(f'{size:.{digits}g}'):g}"
    front, power = f"{size:.{digits - 1}e}".split("e")
    front = front.rstrip("0").rstrip(".") if "." in front else front
    raised = f"10{str(int(power)).translate(_RAISED)}"
    return f"{sign}{raised}" if front == "1" else f"{sign}{front}×{raised}"


def format_range(low: float, high: float, digits: int = 3) -> str:
    """The ends of an interval in words; an end that is open is not named.

    >>> format_range(1.2, 1.5), format_range(4096, float("inf")), format_range(-float("inf"), 0.1)
    ('1.2 to 1.5', 'above 4096', 'below 0.1')
    """
    if math.isnan(low) or math.isnan(high):
        return "not known"
    if math.isinf(low) and math.isinf(high):
        return "anything"
    if math.isinf(high):
        return f"above {format_number(low, digits)}"
    if math.isinf(low):
        return f"below {format_number(high, digits)}"
    return f"{format_number(low, digits)} to {format_number(high, digits)}"


def format_bytes(size: float) -> str:
    """A number of bytes as people read it.

    >>> format_bytes(3 * 2**30)
    '3 GiB'
    """
    return f"{size / 2**30:.3g} GiB"


def format_duration(seconds: float) -> str:
    """A time as people read it.

    >>> format_duration(0.42), format_duration(90), format_duration(5400), format_duration(10**6)
    ('0.4 s', '90 s', '90 min', '277.8 h')
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def printable(text: str) -> str:
    r"""A text of others in one line, with all that a terminal would act on escaped.

    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
