"""A hash of what a function does: its results are not taken for those of another one."""

from __future__ import annotations
import __future__

import ast
import dataclasses
import hashlib
import inspect
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping
from enum import EnumMeta
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from recallscope.parts.field import Field
from recallscope.parts.modules import (
    Module,
    compiled,
    constant_text,
    imports_in,
    is_installed,
    is_own,
    modules_from,
)
from recallscope.parts.renamed import FORMER_NAMES

_PLAIN = (bool, int, float, complex, str, bytes, range, type(None))
_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag


def fingerprint(thing: Callable[..., Any] | object) -> str:
    """Sixteen hexadecimal digits that change when the function does something else.

    In it go its source, without comments, and all that it refers to: functions, classes, values,
    and modules with what they import. What comes from an installed package goes in by name. A
    warning names what is seen to be run there and cannot be followed.

    >>> one, two = partial(pow, 1), partial(pow, 2)
    >>> len(fingerprint(one)), fingerprint(one) == fingerprint(two)
    (16, False)
    """
    walk = _Walk({}, {}, set(), set())
    digest = _digest(thing, walk)
    if walk.hidden:
        warnings.warn(
            f"the hash of the source does not cover all: {'; '.join(sorted(walk.hidden))}. "
            "Give another version= when what is run there changes",
            stacklevel=2,
        )
    return digest[:16]


def modules_of(thing: object) -> dict[str, Module]:
    """The user's modules without which a thing cannot be unpacked and used elsewhere."""
    walk = _Walk({}, {}, set(), set())
    _digest(thing, walk)
    return modules_from([*walk.modules, *walk.homes], walk.modules)


class _Walk(NamedTuple):
    """Through a thing: what was met (and is kept alive), modules, where things are from, gaps."""

    seen: dict[int, tuple[int, Any]]
    modules: dict[str, Module | None]
    homes: set[str]
    hidden: set[str]


def _describe(thing: Any, parts: list[str], walk: _Walk) -> None:
    """Add what a thing is; for one that was met before, add when."""
    if isinstance(thing, _PLAIN):
        parts.append(f"{type(thing).__name__} {thing!r}")
        return
    seen = walk.seen
    if id(thing) in seen:
        parts.append(f"again {seen[id(thing)][0]}")
        return
    seen[id(thing)] = len(seen), thing
    described = _parts_of(thing, walk)
    if isinstance(described, str):
        parts.append(described)
        return
    parts.append(f"{_called(type(thing)).rpartition('.')[2]} (")
    if isinstance(thing, (set, frozenset)):  # the order differs between processes
        parts.extend(sorted(_digest(each, walk) for each in thing))
    else:
        for each in described:
            _describe(each, parts, walk)
    parts.append(")")


def _digest(thing: Any, walk: _Walk) -> str:
    parts: list[str] = []
    _describe(thing, parts, walk._replace(seen=dict(walk.seen)))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _parts_of(thing: Any, walk: _Walk) -> str | list[Any]:
    """What a thing consists of, or a text that says all of it."""
    if isinstance(thing, partial):
        return [thing.func, thing.args, thing.keywords]
    if isinstance(thing, MethodType):
        return [thing.__func__, thing.__self__]
    if isinstance(thing, FunctionType):
        if _is_library(thing):  # which may enclose something of the user's
            return [_called(thing), *_enclosed_by(thing)]
        walk.homes.add(str(thing.__module__))
        around = [*_enclosed_by(thing), *_global_to(thing)]
        imported = _imported_by(thing, around, walk)
        return [_source(thing), thing.__defaults__, thing.__kwdefaults__, *around, *imported]
    if isinstance(thing, type):
        walk.homes.add(str(thing.__module__))
        return _of_class(thing)
    if isinstance(thing, ModuleType):
        return _of_module(thing, walk)
    if isinstance(thing, Mapping):
        # A field that a part got later, at the value that older records stand for, changes nothing.
        old = (pair for pair in thing.items() if not _came_later(pair[1]))
        return [each for pair in old for each in pair]
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
        return _called(kind)
    inside = [each for each in vars(kind).items() if _affects_behaviour(kind, *each)]
    return [kind.__qualname__, *kind.__bases__, *(part for each in inside for part in each)]


def _called(thing: type | FunctionType) -> str:
    """The name of a thing; of ours that were renamed, the one that hashes were made with."""
    named = f"{thing.__module__}.{thing.__qualname__}"
    return FORMER_NAMES.get(named, named)


def _affects_behaviour(kind: type, name: str, value: Any) -> bool:
    """Whether an attribute of a class says what it does; others are made by Python."""
    if isinstance(value, (FunctionType, staticmethod, classmethod, property)):
        return True
    if name.startswith("__") or isinstance(value, (*_PLAIN, list, tuple, dict)):
        return not name.startswith("__")
    made = inspect.isdatadescriptor(value) and _is_library(type(value))
    return not made and name != "_abc_impl" and not isinstance(kind, EnumMeta)


def _of_instance(thing: Any) -> str | list[Any]:
    kind = type(thing)
    if dataclasses.is_dataclass(thing):
        fields = {each: getattr(thing, each.name) for each in dataclasses.fields(thing)}
        old = [pair for pair in fields.items() if not _is_added(*pair)]
        return [kind, *(part for each, value in old for part in (each.name, value))]
    if not _is_library(kind):
        slots = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ())]
        state = {name: getattr(thing, name) for name in slots if hasattr(thing, name)}
        return [kind, state | getattr(thing, "__dict__", {})]
    text = repr(thing)
    named = f"{kind.__module__}.{kind.__qualname__}"
    if not re.search(r"0x[0-9a-f]{4}", text):
        return f"{named} {text}"
    # A text with an address differs between processes; a cache names what it was made of.
    held = [
        value
        for name, value in sorted(getattr(thing, "__dict__", {}).items())
        if name == "__wrapped__"
        or (isinstance(value, (FunctionType, MethodType, type)) and not _is_library(value))
    ]
    return [named, *held] if held else named


def _is_added(field: dataclasses.Field[Any], value: Any) -> bool:
    """Whether a field came later and is at its default: all is as it was without it."""
    return bool(field.metadata.get("added")) and value == field.default


def _came_later(field: Any) -> bool:
    return isinstance(field, Field) and field.added_as == field.default


def _source(function: FunctionType) -> str:
    """The source without comments and layout, if it is that of the code; else the code itself."""
    code = function.__code__
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        again = compile(tree, "", "exec", flags=code.co_flags & _FUTURE, dont_inherit=True)
    except (OSError, TypeError, SyntaxError, ValueError):
        return "\n".join(compiled(code))
    found = [each for each in again.co_consts if isinstance(each, CodeType)]
    # A file may have been edited since; of several lambdas in a line it is not clear which one.
    same = [each for each in found if each.co_name == code.co_name and _gist(each) == _gist(code)]
    if len(found) == 1 and same:
        return ast.unparse(tree)
    return "\n".join(compiled(code))


def _gist(code: CodeType) -> tuple[Any, ...]:
    """What of compiled code does not depend on where it stands."""
    names = {*code.co_names, *code.co_freevars, *code.co_cellvars, *code.co_varnames}
    constants = [constant_text(each) for each in code.co_consts if not isinstance(each, CodeType)]
    inner = [_gist(each) for each in code.co_consts if isinstance(each, CodeType)]
    return tuple(sorted(names)), tuple(constants), tuple(inner)


def _enclosed_by(function: FunctionType) -> Iterator[Any]:
    """What a function encloses from the one that made it, by name and value."""
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


def _imported_by(function: FunctionType, around: list[Any], walk: _Walk) -> list[str]:
    """The user's modules that a function imports itself, or names as a part of a package."""
    space = function.__globals__
    package = space.get("__package__") or ""
    names, hidden = imports_in(function.__code__, package)
    walk.hidden.update(f"{function.__qualname__} {each}" for each in hidden)
    named = _names(function.__code__)
    packages = [each.__name__ for each in around if isinstance(each, ModuleType)]
    for each in packages:  # grows
        packages += [f"{each}.{name}" for name in named if f"{each}.{name}" in sys.modules]
    return _of_modules({*names, *packages}, walk)


def _of_module(module: ModuleType, walk: _Walk) -> str:
    found = _of_modules({module.__name__}, walk)
    path = getattr(module, "__file__", None)
    if not found and path and is_own(module.__name__, [path]):
        walk.hidden.add(f"{module.__name__} is a module that no import finds")
    return "\n".join([module.__name__, *found])


def _of_modules(names: set[str], walk: _Walk) -> list[str]:
    found = modules_from(names, walk.modules)
    walk.hidden.update(f"{name} {each}" for name, module in found.items() for each in module.hidden)
    return [f"{name} {module.digest}" for name, module in found.items()]


def _names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names


def _is_library(thing: Any) -> bool:
    """Whether a function or class comes from an installed package; its version says the rest."""
    module = getattr(thing, "__module__", None) or ""
    if module.split(".")[0] == "recallscope":
        return True
    path = getattr(sys.modules.get(module), "__file__", None)
    if path is None:  # built in, or of a script's `exec`, a notebook or a prompt
        return module in sys.builtin_module_names or module == "builtins"
    return is_installed(path)
