"""A hash of a function's source, so that what it gave is not taken for what another one gives."""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def fingerprint(thing: Callable[..., Any] | object) -> str:
    """Sixteen hexadecimal digits that change when the function does something else.

    In it go its source, without comments, and all of the same module that it refers to: other
    functions, classes, and plain values. What it uses of libraries goes in by name.

    >>> def answer(x):
    ...     return x + 1
    >>> first = fingerprint(answer)
    >>> def answer(x):
    ...     return x + 2
    >>> len(first), first == fingerprint(answer)
    (16, False)
    """
    parts: list[str] = []
    _describe(thing, parts, set())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _describe(thing: Any, parts: list[str], seen: set[int]) -> None:
    if isinstance(thing, _PLAIN):
        parts.append(repr(thing))
        return
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, partial):
        for part in (thing.func, thing.args, thing.keywords):
            _describe(part, parts, seen)
    elif isinstance(thing, MethodType):
        _describe(thing.__func__, parts, seen)
        _describe(thing.__self__, parts, seen)
    elif isinstance(thing, FunctionType):
        parts.append(_source(thing))
        for value in (thing.__defaults__, thing.__kwdefaults__, *_referred_to(thing)):
            _describe(value, parts, seen)
    elif isinstance(thing, type):
        parts.append(_source(thing))
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            _describe(key, parts, seen)
            _describe(value, parts, seen)
    elif isinstance(thing, (list, tuple, set, frozenset)):
        values = sorted(map(repr, thing)) if isinstance(thing, (set, frozenset)) else thing
        for value in values:
            _describe(value, parts, seen)
    elif hasattr(thing, "detach") and hasattr(thing, "cpu"):  # a tensor of PyTorch
        _describe(thing.detach().cpu().numpy(), parts, seen)
    elif hasattr(thing, "tobytes") and hasattr(thing, "shape"):  # an array of NumPy
        digest = hashlib.sha256(thing.tobytes()).hexdigest()
        parts.append(f"{thing.dtype} {thing.shape} {digest}")
    elif isinstance(thing, ModuleType):
        parts.append(thing.__name__)
    else:
        kind = type(thing)
        parts.append(f"{kind.__module__}.{kind.__qualname__}")
        if not _is_library(kind):
            parts.append(_source(kind))
            _describe(getattr(thing, "__dict__", {}), parts, seen)


def _source(thing: Any) -> str:
    """The source without comments and layout; of what has none, the compiled code."""
    try:
        text = textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError):
        code = getattr(thing, "__code__", None)
        return repr(thing) if code is None else "\n".join(_compiled(code))
    try:
        return ast.unparse(ast.parse(text))
    except SyntaxError:  # a part of a line, as of a lambda
        return text


def _compiled(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _compiled(constant)
        else:
            yield repr(constant)


def _referred_to(function: FunctionType) -> Iterator[Any]:
    """What a function finds around it, if it is of the same module or plain."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for _, cell in cells:
        try:
            yield cell.cell_contents
        except ValueError:
            continue  # not filled yet
    for name in sorted(_names(function.__code__)):
        if name not in function.__globals__:
            continue
        value = function.__globals__[name]
        module = getattr(value, "__module__", function.__module__)
        if module == function.__module__ and not isinstance(value, ModuleType):
            yield name
            yield value


def _names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names


def _is_library(kind: type) -> bool:
    """Whether a class comes from an installed package, whose version says what it does."""
    try:
        path = inspect.getfile(kind)
    except (OSError, TypeError):
        return kind.__module__ != "__main__"
    return "site-packages" in path
