"""A hash of what a function does, so that what it gave is not taken for what another one gives."""

from __future__ import annotations
import __future__

import ast
import dataclasses
import hashlib
import inspect
import re
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_PLAIN = (bool, int, float, complex, str, bytes, range, type(None))
_LIBRARIES = tuple(
    sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag


def fingerprint(thing: Callable[..., Any] | object) -> str:
    """Sixteen hexadecimal digits that change when the function does something else.

    In it go its source, without comments, and all that it refers to: functions, classes and values.
    What comes from an installed package goes in by name.

    >>> one, two = partial(pow, 1), partial(pow, 2)
    >>> len(fingerprint(one)), fingerprint(one) == fingerprint(two)
    (16, False)
    """
    parts: list[str] = []
    _describe(thing, parts, {})
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _describe(thing: Any, parts: list[str], seen: dict[int, tuple[int, Any]]) -> None:
    """Add what a thing is; what was met before is told by when. `seen` keeps all things alive."""
    if isinstance(thing, _PLAIN):
        parts.append(f"{type(thing).__name__} {thing!r}")
        return
    if id(thing) in seen:
        parts.append(f"again {seen[id(thing)][0]}")
        return
    seen[id(thing)] = len(seen), thing
    described = _parts_of(thing)
    if isinstance(described, str):
        parts.append(described)
        return
    parts.append(f"{type(thing).__name__} (")
    if isinstance(thing, (set, frozenset)):  # whose order is another in every process
        parts.extend(sorted(_digest(each, seen) for each in thing))
    else:
        for each in described:
            _describe(each, parts, seen)
    parts.append(")")


def _digest(thing: Any, seen: dict[int, tuple[int, Any]]) -> str:
    parts: list[str] = []
    _describe(thing, parts, dict(seen))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _parts_of(thing: Any) -> str | list[Any]:
    """What a thing consists of, or a text that says all of it."""
    if isinstance(thing, partial):
        return [thing.func, thing.args, thing.keywords]
    if isinstance(thing, MethodType):
        return [thing.__func__, thing.__self__]
    if isinstance(thing, FunctionType):
        if _is_library(thing):  # which may hold something of the user's
            return [f"{thing.__module__}.{thing.__qualname__}", *_enclosed_by(thing)]
        around = [*_enclosed_by(thing), *_global_to(thing)]
        return [_source(thing), thing.__defaults__, thing.__kwdefaults__, *around]
    if isinstance(thing, type):
        return _of_class(thing)
    if isinstance(thing, ModuleType):
        return thing.__name__
    if isinstance(thing, Mapping):
        return [each for pair in thing.items() for each in pair]
    if isinstance(thing, (list, tuple, set, frozenset)):
        return list(thing)
    if isinstance(thing, (staticmethod, classmethod)):
        return [thing.__func__]
    if isinstance(thing, property):
        return [thing.fget, thing.fset]
    return _of_array(thing) or _of_instance(thing)


def _of_array(thing: Any) -> str | list[Any] | None:
    """The numbers of an array, a tensor or a module of PyTorch."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(thing, torch.Tensor):
        flat = thing.detach().cpu().reshape(-1).contiguous()
        data = flat.view(torch.uint8).numpy().tobytes()
        digest = hashlib.sha256(data).hexdigest()
        return f"tensor {thing.dtype} {tuple(thing.shape)} {digest}"
    if torch is not None and isinstance(thing, torch.nn.Module):
        return [type(thing), str(thing), dict(thing.state_dict())]
    if isinstance(thing, memoryview):
        return f"bytes {hashlib.sha256(bytes(thing)).hexdigest()}"
    if hasattr(thing, "tobytes") and hasattr(thing, "dtype"):
        if thing.dtype.hasobject:
            return [thing.shape, thing.tolist()]
        return f"array {thing.dtype} {thing.shape} {hashlib.sha256(thing.tobytes()).hexdigest()}"
    return None


def _of_class(kind: type) -> str | list[Any]:
    if _is_library(kind):
        return f"{kind.__module__}.{kind.__qualname__}"
    inside = [each for each in vars(kind).items() if _tells(*each)]
    return [kind.__qualname__, *kind.__bases__, *(part for each in inside for part in each)]


def _tells(name: str, value: Any) -> bool:
    """Whether an attribute of a class says what it does; others are made by Python."""
    functions = (FunctionType, staticmethod, classmethod, property)
    return isinstance(value, functions) or (
        not name.startswith("__") and isinstance(value, (*_PLAIN, list, tuple, dict))
    )


def _of_instance(thing: Any) -> str | list[Any]:
    kind = type(thing)
    if dataclasses.is_dataclass(thing):
        fields = dataclasses.fields(thing)
        return [kind, *(part for each in fields for part in (each.name, getattr(thing, each.name)))]
    if not _is_library(kind):
        slots = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ())]
        state = {name: getattr(thing, name) for name in slots if hasattr(thing, name)}
        return [kind, state | getattr(thing, "__dict__", {})]
    text = repr(thing)
    named = f"{kind.__module__}.{kind.__qualname__}"
    # Where a text holds an address it is another in every process.
    return named if re.search(r"0x[0-9a-f]{4}", text) else f"{named} {text}"


def _source(function: FunctionType) -> str:
    """The source without comments and layout, if it is that of the code; else the code itself."""
    code = function.__code__
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        compiled = compile(tree, "", "exec", flags=code.co_flags & _FUTURE, dont_inherit=True)
    except (OSError, TypeError, SyntaxError, ValueError):
        return "\n".join(_compiled(code))
    found = [each for each in compiled.co_consts if isinstance(each, CodeType)]
    # A file may have been edited since; of several lambdas in a line it is not clear which one.
    same = [each for each in found if each.co_name == code.co_name and _gist(each) == _gist(code)]
    if len(found) == 1 and same:
        return ast.unparse(tree)
    return "\n".join(_compiled(code))


def _gist(code: CodeType) -> tuple[Any, ...]:
    """What of compiled code does not depend on where it stands."""
    names = {*code.co_names, *code.co_freevars, *code.co_cellvars, *code.co_varnames}
    constants = [_constant(each) for each in code.co_consts if not isinstance(each, CodeType)]
    inner = [_gist(each) for each in code.co_consts if isinstance(each, CodeType)]
    return tuple(sorted(names)), tuple(constants), tuple(inner)


def _compiled(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_freevars))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _compiled(constant)
        else:
            yield _constant(constant)


def _constant(value: Any) -> str:
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def _enclosed_by(function: FunctionType) -> Iterator[Any]:
    """What a function holds of the one that made it, by name and value."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield from (name, cell.cell_contents)
        except ValueError:
            continue  # not filled yet


def _global_to(function: FunctionType) -> Iterator[Any]:
    """What a function finds in its module, by name and value."""
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield from (name, function.__globals__[name])


def _names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names


def _is_library(thing: Any) -> bool:
    """Whether a function or class comes from an installed package, whose version says the rest."""
    module = getattr(thing, "__module__", None) or ""
    if module.split(".")[0] == "recallscope":
        return True
    path = getattr(sys.modules.get(module), "__file__", None)
    if path is None:  # built in, or of a script's `exec`, a notebook or a prompt
        return module in sys.builtin_module_names or module == "builtins"
    return "site-packages" in path or path.startswith(_LIBRARIES)
