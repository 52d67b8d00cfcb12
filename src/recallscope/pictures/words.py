"""What a figure says of the problems it shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from recallscope.pictures.style import LETTERS


def described(fields: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a problem as words, by name; sizes that are None are left out.

    >>> list(described({"vocab": 512, "samples": None, "embedding": "sphere"}).values())
    ['V=512', 'attention alone', 'sphere embeddings']
    """
    told = {
        name: f"{letter}={fields[name]}"
        for name, letter in LETTERS.items()
        if fields.get(name) is not None
    }
    activation = fields.get("activation")
    told["activation"] = f"{activation} MLP" if activation else "attention alone"
    told["embedding"] = f"{fields['embedding']} embeddings"
    if fields.get("trigger_in_values"):
        told["trigger_in_values"] = "trigger in the values"
    if fields.get("regime") == "literal":
        told["regime"] = f"literal steps η={fields['eta']:g}, γ={fields['gamma']:g}"
    return told


def in_common(many: Iterable[Mapping[str, Any]]) -> str:
    """What is the same for all problems, as one phrase."""
    told = [described(fields) for fields in many]
    return ", ".join(
        text for name, text in told[0].items() if all(each.get(name) == text for each in told)
    )


def kind_of(accuracy: str) -> str:
    """The name of an accuracy as it is read: one step, lock or recall."""
    return accuracy.removesuffix("_accuracy").replace("_", " ")


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain(value: float, digits: int = 3) -> str:
    """A number as people read it, to so many digits; whole parts are never cut.

    >>> plain(4096), plain(0.12345), plain(-1.5), plain(2.5e-7), plain(1e6), plain(float("inf"))
    ('4096', '0.123', '−1.5', '2.5×10⁻⁷', '10⁶', '∞')
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


def plain_range(low: float, high: float, digits: int = 3) -> str:
    """The ends of an interval in words; an end that is open is not named.

    >>> plain_range(1.2, 1.5), plain_range(4096, float("inf")), plain_range(-float("inf"), 0.1)
    ('1.2 to 1.5', 'above 4096', 'below 0.1')
    """
    if math.isnan(low) or math.isnan(high):
        return "not known"
    if math.isinf(low) and math.isinf(high):
        return "anything"
    if math.isinf(high):
        return f"above {plain(low, digits)}"
    if math.isinf(low):
        return f"below {plain(high, digits)}"
    return f"{plain(low, digits)} to {plain(high, digits)}"
