"""Small parts from functions, and changed ones, for tests that need many of them."""

from __future__ import annotations

import dataclasses


def made(base, *, name, fields=None, **members):
    """An object of a new subclass: functions among the members are methods, without `self`."""
    body = {"name": name, "__module__": __name__}
    for member, value in members.items():
        body[member] = _method(value) if callable(value) else value
    new = [(each, type(field.default), field) for each, field in (fields or {}).items()]
    return dataclasses.make_dataclass("Made", new, bases=(base,), namespace=body, frozen=True)()


def _method(function):
    def method(self, *given):
        return function(*given)

    return method


def changed(part, **members):
    """The same part with other attributes of its class, such as its version."""
    made = type(type(part).__name__, (type(part),), {"__module__": __name__, **members})
    return dataclasses.dataclass(frozen=True)(made)()
