"""Axes: the numeric fields of a problem, its sizes and those that its parts declare."""

from __future__ import annotations

from collections.abc import Iterable

from recallscope.common.checks import LARGEST_SIZE
from recallscope.common.errors import ProblemError, did_you_mean
from recallscope.problem.field import Field
from recallscope.problem.naming import MissingPartError, declared_by

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
