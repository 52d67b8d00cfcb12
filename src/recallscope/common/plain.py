"""Objects with fields as values fit for JSON, and back by the types of the fields.

A class that has a `to_dict` and a `from_dict` is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from enum import StrEnum
from functools import wraps
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, TypeVar, cast, get_args, get_origin, get_type_hints

from recallscope.common.errors import ProblemError

T = TypeVar("T")
Read = TypeVar("Read", bound=Callable[..., Any])
_NOT_SAVED = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)


def plain(value: Any) -> Any:
    """Fields by name, a problem with its key, the value of an enumeration.

    >>> from recallscope.common.status import Status
    >>> plain({"seen": (8, Status.OK)})
    {'seen': [8, 'ok']}
    """
    if hasattr(value, "keyed_dict"):  # a problem, which results have with its key
        return value.keyed_dict()
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) or hasattr(value, "_fields"):
        names = getattr(value, "_fields", None) or value.__dataclass_fields__
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {name: plain(element) for name, element in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    return str(value) if isinstance(value, StrEnum) else value


def with_inf(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of numbers for JSON, in which an infinite one is a word, as in a problem."""
    return {name: "inf" if value == math.inf else value for name, value in fields.items()}


def finite(value: Any) -> Any:
    """The same without infinity and NaN, which JSON does not have: they are null.

    >>> finite({0.5: [8, math.inf]})
    {'0.5': [8, None]}
    """
    if isinstance(value, Mapping):
        return {str(name): finite(element) for name, element in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(element) for element in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def unplain(kind: Any, value: Any) -> Any:
    """The inverse of `plain`, for a type; null is an infinite number where there must be one.

    >>> unplain(dict[float, tuple[float, ...]], {"0.5": [8, "inf"]})
    {0.5: (8, inf)}
    """
    origin, of = get_origin(kind) or kind, get_args(kind)
    if origin is UnionType:
        (one,) = (member for member in of if member is not NoneType)
        return None if value is None else unplain(one, value)
    if origin is float:
        return math.inf if value in (None, "inf") else value
    if not isinstance(origin, type):
        return value
    if issubclass(origin, Mapping):
        name_of = of[0] if of[0] in (int, float) else str
        return {name_of(name): unplain(of[1], element) for name, element in value.items()}
    if origin is list:
        return [unplain(of[0], element) for element in value]
    if origin is tuple:
        kinds = of[:1] * len(value) if of[-1] is ... else of
        return tuple(unplain(*typed) for typed in zip(kinds, value, strict=True))
    if hasattr(origin, "from_dict"):
        return origin.from_dict(value)
    if is_dataclass(origin) or hasattr(origin, "_fields"):
        return from_fields(origin, value)
    return origin(value) if issubclass(origin, StrEnum) else value


def from_fields(kind: type[T], values: Mapping[str, Any]) -> T:
    """An object of a class from plain values of its fields; other values are ignored."""
    kinds = get_type_hints(kind)
    return kind(**{name: unplain(kinds[name], values[name]) for name in kinds if name in values})


def refusing(read: Read) -> Read:
    """A `from_dict` that refuses in a sentence whatever `to_dict` never returned."""

    @wraps(read)
    def read_or_refused(cls: type, *values: Any, **named: Any) -> Any:
        try:
            return read(cls, *values, **named)
        except ProblemError:
            raise
        except _NOT_SAVED as error:
            why = f"{type(error).__name__} {' '.join(str(error).split()):.100}"
            raise ProblemError(
                f"this is no saved {cls.__name__}: {why}; give what its to_dict returned"
            ) from None

    return cast(Read, read_or_refused)


class Plain:
    """A dataclass that goes to JSON and back."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    _in_json: ClassVar[tuple[str, ...]] = ()  # what `to_dict` has, if not just the fields

    def to_dict(self) -> dict[str, Any]:
        """Everything, fit for JSON; `from_dict` makes the same of it again."""
        names = self._in_json or self.__dataclass_fields__
        return {name: plain(getattr(self, name)) for name in names}

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if isinstance(own := vars(cls).get("from_dict"), classmethod):
            cls.from_dict = classmethod(refusing(own.__func__))  # type: ignore[assignment]

    @classmethod
    @refusing
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        return from_fields(cls, data)
