"""A part of a problem: a frozen dataclass. Its fields are what it adds to problems."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar

from recallscope.common.errors import ProblemError
from recallscope.problem.field import FIELD_NAME, Field, TypeOfField

_METADATA = "recallscope"


def problem_field(
    default: TypeOfField,
    *,
    help: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    monotone: int | None = None,
    scale: str = "log",
    long: str = "",
) -> TypeOfField:
    """A field of a part that problems have too, when they name the part.

    Args:
        default: its value where a problem gives none; its type is that of all values.
        help: what it is, in a sentence.
        low: the smallest number.
        high: the largest.
        choices: the texts that there are.
        monotone: 1 if recall rises with it, -1 if it falls, None if neither is known.
        scale: of it as an axis, log or linear.
        long: json or folder, for a text that problems name by a hash of its content.

    Returns:
        A field of a dataclass.

    >>> @dataclass(frozen=True)
    ... class Leaning(Part):
    ...     lean: float = problem_field(0.0, low=0.0, monotone=-1, help="How far rows lean.")
    >>> Leaning(lean=2.0).lean, fields_of(Leaning)["lean"].monotone
    (2.0, -1)
    """
    field = Field(
        default=default,
        help=help,
        low=low,
        high=high,
        choices=choices,
        monotone=monotone,
        scale=scale,
        long=long,
    )
    # To a type checker it is its value, as it is to the methods of the part.
    dataclass_field: Any = dataclasses.field(default=default, metadata={_METADATA: field})
    return dataclass_field  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Part:
    """What embedding families, tasks, models, learners, metrics and laws have in common.

    A part is a frozen dataclass, and a subclass of one of these six. Fields that are made by
    `problem_field` are fields of each problem that names the part. In methods they have the values
    that the problem gives them.

    Attributes:
        kind_of_part: embedding, task, model, learner, metric or law.
        name: needed only if it is passed as an object.
        version: raised when the same problem and seed give another record; part of record keys. Of
            an object it replaces the hash of its source.
    """

    kind_of_part: ClassVar[str] = ""
    name: ClassVar[str] = ""
    version: ClassVar[int | None] = None

    def check(self, problem: Any) -> None:
        """Raise `ProblemError` for a `Problem` that the part cannot serve."""


def fields_of(part: Part | type[Part]) -> dict[str, Field]:
    """The fields that a part adds to problems, by their names."""
    made: Any = part if isinstance(part, type) else type(part)
    return _fields_of(made)


@cache
def _fields_of(part: Any) -> dict[str, Field]:
    for name, value in vars(part).items():
        if isinstance(value, dataclasses.Field):  # which the decorator replaces by the default
            raise ProblemError(
                f"{part.__name__} has a field {name}, and is no dataclass; write "
                "@dataclass(frozen=True) above the class"
            )
    fields = {
        field.name: field.metadata[_METADATA]
        for field in dataclasses.fields(part)
        if _METADATA in field.metadata
    }
    for name in fields:
        if not re.fullmatch(FIELD_NAME, name):
            raise ProblemError(
                f"{part.__name__} has a field {name!r:.60}; a field has a name of small letters, "
                "digits and '_', at most 50 of them"
            )
        for base in part.__mro__[1:]:
            if name in vars(base) and name not in getattr(base, "__dataclass_fields__", {}):
                raise ProblemError(
                    f"{part.__name__} has a field {name}, which in {base.__name__} is something "
                    "else; give the field another name"
                )
    return fields


def with_values(part: Any, values: dict[str, Any]) -> Any:
    """The part with the values that a problem has for its fields.

    >>> from recallscope.experiment.metrics.recall_at_k import RecallAtK
    >>> with_values(RecallAtK(), {"k": 2, "dim": 8}).k
    2
    """
    own = tuple((name, values[name]) for name in fields_of(part) if name in values)
    if not own:
        return part
    try:
        return _with(part, own)
    except TypeError:  # it has something else, which cannot be hashed
        return dataclasses.replace(part, **dict(own))


@lru_cache(1024)  # a problem asks for the same parts again and again
def _with(part: Any, own: tuple[tuple[str, Any], ...]) -> Any:
    return dataclasses.replace(part, **dict(own))


def values_of(part: Part) -> dict[str, Any]:
    """Of the fields that a part adds to problems, those that are not at their defaults.

    >>> from recallscope.experiment.metrics.recall_at_k import RecallAtK
    >>> values_of(RecallAtK(k=2)), values_of(RecallAtK())
    ({'k': 2}, {})
    """
    return {
        name: value
        for name, field in fields_of(part).items()
        if (value := getattr(part, name)) != field.default
    }
