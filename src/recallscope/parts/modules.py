"""The user's modules: which ones some code imports, and their sources.

They are read and never run: a module that is not loaded yet stays so.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

_LIBRARIES = tuple(
    sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_AROUND_A_CALL = ("EXTENDED_ARG", "PRECALL", "PUSH_NULL", "CACHE")


class Module(NamedTuple):
    """A module of the user's.

    Attributes:
        paths: its file, or the folders of a package without one.
        source: its text, if there is any.
        digest: a hash of what it says.
        imports: what it may import, by full name; not all need be modules.
        hidden: what it does that cannot be followed.
        edited: whether its file was edited after it was loaded.
        values: constants that the program has changed.
    """

    paths: tuple[str, ...]
    source: str | None
    digest: str
    imports: frozenset[str]
    hidden: frozenset[str]
    edited: bool = False
    values: Mapping[str, Any] = {}


def is_installed(path: str) -> bool:
    """Whether a file belongs to an installed package; its version says the rest."""
    return "site-packages" in path or path.startswith(_LIBRARIES)


def is_own(name: str, paths: Iterable[str]) -> bool:
    """Whether a module is the user's: neither installed nor ours."""
    return name.partition(".")[0] != "recallscope" and any(
        not is_installed(path) and "dist-packages" not in path for path in paths
    )


def modules_from(names: Iterable[str], known: dict[str, Module | None]) -> dict[str, Module]:
    """The user's modules of these names, and all that they import; `known` are not read again."""
    found: dict[str, Module] = {}
    waiting = {*names}
    while waiting:
        name = waiting.pop()
        if name not in known:
            known[name] = _read(name)
        module = known[name]
        if module is not None and name not in found:
            found[name] = module
            waiting |= module.imports | {name.rpartition(".")[0] or name}
    return dict(sorted(found.items()))


def imports_in(code: CodeType, package: str) -> tuple[frozenset[str], frozenset[str]]:
    """What code imports, by full name, and what it does that hides what it runs."""
    names, hidden = set(), set()
    for each in _codes(code):
        steps = [step for step in dis.get_instructions(each) if step.opname not in _AROUND_A_CALL]
        for place, step in enumerate(steps):
            if step.opname == "IMPORT_NAME":
                level, members = steps[place - 2].argval, steps[place - 1].argval
                if level and not package:
                    continue  # it fails when it is run
                base = importlib.util.resolve_name("." * level + step.argval, package)
                names |= {base, *(f"{base}.{member}" for member in members or ())}
            elif step.opname.startswith("LOAD_") and step.argval in ("import_module", "__import__"):
                match steps[place + 1 : place + 3]:
                    case [given, call] if (given.opname, call.opname) == ("LOAD_CONST", "CALL"):
                        names.add(str(given.argval))
                    case _:
                        hidden.add("imports by a computed name")
            elif step.opname.startswith("LOAD_") and step.argval in ("exec", "run_path"):
                hidden.add(f"runs code by {step.argval}")
    return frozenset(names), frozenset(hidden)


def _read(name: str) -> Module | None:
    spec = _spec(name)
    if spec is None or not is_own(name, _paths(spec)):
        return None
    if not spec.has_location:  # a package without a file
        return Module(_paths(spec), None, "", _NONE, _NONE)
    source = _source(spec)
    if source is None:
        return Module((), None, "", _NONE, frozenset({"has no source in Python"}))
    digest, imports, hidden, codes, constants = _parsed(source, spec.parent or "")
    functions, values = _changed(name, spec.origin, codes, dict(constants))
    if functions or values:
        digest = _hash(repr((digest, sorted(functions.items()), sorted(values.items()))))
    # Loaders of other kinds, such as that of pytest, change what they load.
    edited = bool(functions) and type(spec.loader) is SourceFileLoader
    return Module(_paths(spec), source, digest, imports, hidden, edited, values)


def _source(spec: ModuleSpec) -> str | None:
    loader: Any = spec.loader
    with suppress(ImportError, AttributeError):
        found: str | None = loader.get_source(spec.name)
        return found
    with suppress(OSError, SyntaxError, UnicodeDecodeError):  # loaders such as pytest's give none
        return importlib.util.decode_source(Path(spec.origin or "").read_bytes())
    return None


def _spec(name: str) -> ModuleSpec | None:
    """Where a module comes from. The search of Python itself would run the package around it."""
    package = name.rpartition(".")[0]
    try:
        if name in sys.modules or not package:
            return importlib.util.find_spec(name)
        around = _spec(package)
        if around is None or not is_own(package, _paths(around)):
            return None
        return PathFinder.find_spec(name, around.submodule_search_locations or [])
    except (ImportError, ValueError, AttributeError):  # such as a script, which has none
        return None


def _paths(spec: ModuleSpec) -> tuple[str, ...]:
    if spec.has_location:
        return (spec.origin or "",)
    return tuple(spec.submodule_search_locations or ())


_NONE: frozenset[str] = frozenset()
_Parsed = tuple[str, frozenset[str], frozenset[str], frozenset[str], tuple[tuple[str, str], ...]]


@lru_cache(1000)
def _parsed(source: str, package: str) -> _Parsed:
    """The hash of a source, what it imports and hides, its compiled codes, its constants."""
    try:
        tree = ast.parse(source)
        code = compile(tree, "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):  # edited since it was loaded
        return _hash(source), _NONE, _NONE, _NONE, ()
    nodes = [*ast.walk(tree)]
    rebound = {name for each in nodes if isinstance(each, ast.Global) for name in each.names}
    constants = {
        target.id: repr(each.value.value)
        for each in tree.body
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant)
        for target in each.targets
        if isinstance(target, ast.Name) and target.id not in rebound
    }
    for each in nodes:
        if isinstance(getattr(each, "body", None), list):
            each.body = [line for line in each.body if not _is_remark(line)]  # type: ignore[attr-defined]
    codes = frozenset(map(_code_text, _codes(code)))
    return _hash(ast.unparse(tree)), *imports_in(code, package), codes, tuple(constants.items())


def _is_remark(line: ast.AST) -> bool:
    """Whether a line is a text that stands alone, such as a docstring."""
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)


def _changed(
    name: str, path: str | None, codes: frozenset[str], constants: dict[str, str]
) -> tuple[dict[str, str], dict[str, Any]]:
    """Functions and constants that are loaded and not so in the file.

    The file was edited since, or the program changed a constant. Other values are not compared, as
    many are made at run time, nor are constants that a function of the module sets.
    """
    loaded = getattr(sys.modules.get(name), "__dict__", {})
    classes = [each for each in loaded.values() if isinstance(each, type)]
    inside = [value for each in classes if each.__module__ == name for value in vars(each).values()]
    functions = {
        value.__qualname__: _code_text(value.__code__)
        for value in [*loaded.values(), *inside]
        if isinstance(value, FunctionType) and value.__code__.co_filename == path
    }
    values = {called: loaded[called] for called in constants if called in loaded}
    return (
        {called: code for called, code in functions.items() if code not in codes},
        {
            called: value
            for called, value in values.items()
            if isinstance(value, _PLAIN) and repr(value) != constants[called]
        },
    )


def compiled(code: CodeType) -> Iterator[str]:
    """All of compiled code that does not depend on where it stands."""
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_freevars))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from compiled(constant)
        else:
            yield constant_text(constant)


def _code_text(code: CodeType) -> str:
    return "\n".join([code.co_qualname, *compiled(code)])


def constant_text(value: Any) -> str:
    """A constant of compiled code, the same in every process."""
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
