"""Axes: the numeric fields of a problem, its sizes and those of its parts, and their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from recallscope.common.checks import LARGEST_SIZE, whole_number
from recallscope.common.csv_files import number_or_text
from recallscope.common.errors import ProblemError, did_you_mean
from recallscope.problem.field import Field
from recallscope.problem.naming import MissingPartError, declared_by
from recallscope.problem.problem import Problem

SIZES: dict[str, Field] = {
    "vocab": Field(default=2, low=2, high=LARGEST_SIZE, monotone=-1, required=True),
    "samples": Field(default=1, low=1, high=LARGEST_SIZE, monotone=1, required=True),
    "dim": Field(default=1, low=1, high=LARGEST_SIZE, monotone=1, required=True),
    "length": Field(default=1, low=1, high=LARGEST_SIZE, monotone=-1, required=True),
    "width": Field(default=1, low=1, high=LARGEST_SIZE, monotone=1, nullable=True),
}
"""The sizes that every problem has, or, of the width, may have."""


def axes_of(parts: Iterable[tuple[str, str]]) -> dict[str, Field]:
    """Every numeric field of a problem with these parts.

    >>> list(axes_of([("learner", "adam")]))[5:8]
    ['learning_rate', 'steps', 'weight_decay']
    """
    try:
        declared = declared_by(parts)
    except MissingPartError:  # read from a store: then the sizes are known
        declared = {}
    return SIZES | {name: field for name, field in declared.items() if field.numeric}


def axis_value(name: str, value: object, field: Field) -> float:
    """A value of an axis, as its field has it; or an error that says what was expected.

    >>> axis_value("steps", 100.0, axis_field("steps", [("learner", "adam")]))
    100
    """
    try:
        checked = field.checked(name, value)
    except ValueError as error:
        raise ProblemError(str(error)) from None
    assert isinstance(checked, (int, float))
    return checked


def axis_field(name: str, parts: Iterable[tuple[str, str]], searched: bool = False) -> Field:
    """The field of an axis; one that is searched along makes recall rise, or fall.

    >>> axis_field("steps", [("learner", "adam")], searched=True).monotone
    1
    >>> axis_field("learning_rate", [("learner", "adam")], searched=True)
    Traceback (most recent call last):
    recallscope.ProblemError: recall neither rises nor falls with learning_rate ...
    """
    every = axes_of(parts)
    along = [axis for axis, field in every.items() if field.monotone or not searched]
    if name in along:
        return every[name]
    if name in every:
        raise ProblemError(
            f"recall neither rises nor falls with {name} alone: no value of it is critical; "
            f"choose one of {', '.join(along)}, or draw a phase diagram over it"
        )
    raise ProblemError(
        f"an axis is one of {', '.join(along)}, not {name!r:.60}{did_you_mean(str(name), along)}"
        + ("; recallscope plan --solve-for rank finds that of an update" if name == "rank" else "")
    )


_MOST_VALUES = 1000


class Axis(NamedTuple):
    """A field and its values, rising."""

    name: str
    values: tuple[float, ...]


def parse_axis(text: str, fields: Mapping[str, Field] = SIZES) -> Axis:
    """Read `name=a,b,c`, or `name=low:high:count` for values evenly spaced on the field's scale.

    >>> parse_axis("dim=32,64,96")
    Axis(name='dim', values=(32, 64, 96))
    >>> parse_axis("samples=1e3:1e5:3")
    Axis(name='samples', values=(1000, 10000, 100000))
    """
    name, _, values_text = text.partition("=")
    if name not in fields or not values_text:
        raise ProblemError(
            f"an axis is {' or '.join(fields)}, then = and its values, as in dim=32,64,128 or "
            f"dim=32:128:5, not {text!r}"
        )
    field = fields[name]
    if ":" in values_text:
        parts = values_text.split(":")
        if len(parts) != 3:
            raise ProblemError(
                f"a range is low:high:count, as in {name}=32:128:5, not {values_text!r}"
            )
        low, high = (_value(name, number_or_text(part), field) for part in parts[:2])
        count = whole_number("count", number_or_text(parts[2]), 2, _MOST_VALUES)
        if low >= high:
            raise ProblemError(f"the range of {name} must rise, not go from {low} to {high}")
        import numpy as np  # here and below, as it takes longer than all else

        places = np.linspace(field.place(low), field.place(high), count)
        values = sorted({field.value_at(place) for place in places})
    else:
        return sizes_of(name, map(number_or_text, values_text.split(",")), fields)
    return Axis(name, tuple(values))


def sizes_of(name: str, values: Iterable[object], fields: Mapping[str, Field] = SIZES) -> Axis:
    """An axis from the name of a field and its values, in any order.

    >>> sizes_of("dim", [64, 16, 64])
    Axis(name='dim', values=(16, 64))
    """
    if name not in fields:
        raise ProblemError(f"an axis is of {' or '.join(fields)}, not of {name!r:.60}")
    sizes = sorted({_value(name, value, fields[name]) for value in values})
    if not 1 <= len(sizes) <= _MOST_VALUES:
        raise ProblemError(f"an axis has 1 to {_MOST_VALUES} values, not {len(sizes)}")
    return Axis(name, tuple(sizes))


def check_varied(axes: Iterable[Axis], quantity: str) -> None:
    """Raise if the size sought is among those varied."""
    for axis in axes:
        if axis.name == quantity:
            raise ProblemError(f"{quantity} is the size sought; vary another")


def sizes_between(low: float, high: float, count: int) -> list[int]:
    """Whole numbers evenly spaced in the logarithm, each once.

    >>> sizes_between(1, 100, 3)
    [1, 10, 100]
    """
    import numpy as np

    return [int(size) for size in np.unique(np.round(np.geomspace(low, high, count)))]


def _value(name: str, value: object, field: Field) -> float:
    if name in SIZES:
        return whole_number(name, value, 1, LARGEST_SIZE)
    return axis_value(name, value, field)


AxisLike = str | Axis | tuple[str, Iterable[float]]
"""'dim=16:256:30', or ('dim', [16, 32, 64])."""


def axis_from(axis: AxisLike, problem: Problem) -> Axis:
    """An axis of a problem, however it was given.

    >>> problem = Problem(vocab=64, samples=1, dim=16, length=4)
    >>> axis_from(("dim", [64, 16]), problem), axis_from("dim=16,64", problem)
    (Axis(name='dim', values=(16, 64)), Axis(name='dim', values=(16, 64)))
    """
    fields = axes_of(problem.parts())
    if isinstance(axis, str):
        return parse_axis(axis, fields)
    try:
        name, values = axis
    except (TypeError, ValueError):
        raise ProblemError(
            f"an axis is text such as 'dim=16:256:30', or a name and values, not {axis!r:.60}"
        ) from None
    return sizes_of(name, values, fields)
