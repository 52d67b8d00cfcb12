"""Values fit for JSON, made of what has fields, and made into it again by the types of the fields.

A class with a `to_dict` and a `from_dict` of its own is asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from recallscope.problem import Problem

T = TypeVar("T")


def plain(value: Any) -> Any:
    """Fields by name, a problem with its key, an infinite number as 'inf'.

    >>> plain({"samples": (8, math.inf)})
    {'samples': [8, 'inf']}
    """
    if isinstance(value, Problem):
        return value.to_dict() | {"key": value.key}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) or hasattr(value, "_fields"):
        names = getattr(value, "_fields", None) or value.__dataclass_fields__
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, StrEnum):
        return str(value)
    return "inf" if isinstance(value, float) and value == math.inf else value


def unplain(kind: Any, value: Any) -> Any:
    """The inverse of `plain`, for a type; null is an infinite number where there must be one.

    >>> unplain(dict[float, tuple[float, ...]], {"0.5": [8, "inf"]})
    {0.5: (8, inf)}
    """
    origin, of = get_origin(kind) or kind, get_args(kind)
    if origin is UnionType:
        (one,) = (each for each in of if each is not NoneType)
        return None if value is None else unplain(one, value)
    if origin is float:
        return math.inf if value in (None, "inf") else value
    if not isinstance(origin, type):
        return value
    if issubclass(origin, Mapping):
        name_of = of[0] if of[0] in (int, float) else str
        return {name_of(name): unplain(of[1], each) for name, each in value.items()}
    if origin is list:
        return [unplain(of[0], each) for each in value]
    if origin is tuple:
        kinds = of[:1] * len(value) if of[-1] is ... else of
        return tuple(unplain(*each) for each in zip(kinds, value, strict=True))
    if hasattr(origin, "from_dict"):
        return origin.from_dict(value)
    if is_dataclass(origin) or hasattr(origin, "_fields"):
        return from_fields(origin, value)
    return origin(value) if issubclass(origin, StrEnum) else value


def from_fields(kind: type[T], told: Mapping[str, Any]) -> T:
    """An object of a class from plain values of its fields; what is no field is passed over."""
    kinds = get_type_hints(kind)
    return kind(**{name: unplain(each, told[name]) for name, each in kinds.items() if name in told})
