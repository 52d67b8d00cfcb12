"""The public API as one sorted list: Python names, options of commands, keys of JSON documents.

    python tools/public_api.py > api.json   # of the package that Python finds
    python tools/public_api.py --write      # tests/api-changes.txt, the changes since 0.2

`tests/api-0.2.json` is the list of version 0.2 and stays as it is. A test compares the changes
since then with those in `tests/api-changes.txt`, so every commit shows what it does to the API.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import typer
from typer.testing import CliRunner

import recallscope
from recallscope.cli.main import app

TESTS = Path(__file__).parents[1] / "tests"
RELEASED, CHANGES = TESTS / "api-0.2.json", TESTS / "api-changes.txt"
_HEAD = "# Changes of the public API since 0.2, written by `python tools/public_api.py --write`.\n"
_SOURCE = Path(recallscope.__file__).parent

API = dict[str, dict[str, str]]
"""What each name is, in one line: for Python, for the command line and for JSON."""

# Of a sweep file; the fields of a problem are left out, as plugins add theirs.
_OWN_SCHEMA = re.compile(r"^(?!\$defs\.(?:Problem|Grid|Zip)\b).*properties\.\w+$")
_DEPENDS = re.compile(r"revision$")  # which only a checkout has
_LONGEST = 60  # of a default: some are sentences

_SWEEP = """seeds = 1
test_samples = 64
[problem]
vocab = 16
length = 4
dim = 8
samples = 64
"""
_SMALL = "--vocab 16 --dim 8 --length 4"
_ONE = f"{_SMALL} --samples 64"
_TRAINED = f"{_ONE} --learner adam"
_TESTED = "--test-samples 64"
EXAMPLES = {
    "ablate": f"ablate steps mlp {_ONE} --width 8 --seeds 2 {_TESTED}",
    "audit": "audit table.npy",
    "bound": f"bound {_ONE}",
    "check": f"check {_ONE} --seeds 2",
    "critical": f"critical --for samples {_SMALL} --budget 4 --high 256 {_TESTED}",
    "fit": f"fit --for samples --accuracy one-step {_SMALL} --vary length=4,8,16 --budget 4",
    "paper list": "paper list",
    "phase": f"phase --x samples=32,64 --y dim=8,16 --vocab 16 --length 4 --seeds 1 {_TESTED}",
    "phase --theory-only": (
        "phase --x samples=32,64 --y dim=8,16 --vocab 16 --length 4 --theory-only"
    ),
    "predict": f"predict {_ONE}",
    "predict --embedding structured": f"predict {_ONE} --embedding structured",
    "predict --learner adam": f"predict {_TRAINED}",
    "predict --width": f"predict {_ONE} --width 8",
    "run": f"run {_ONE} --seeds 2 {_TESTED}",
    "run --learner adam": f"run {_TRAINED} --steps 2 {_TESTED}",
    "solve": f"solve --for samples {_SMALL}",
    "sweep --dry-run": "sweep sweep.toml --store facts --dry-run",
    "sweep --schema": "sweep --schema",
    "sweep": "sweep sweep.toml --store facts",
    "train": f"train {_TRAINED} --steps 2 {_TESTED}",
    # The store is there once the sweep has run.
    "records list": "records list --store facts",
    "records verify": "records verify --store facts",
    "records repair": "records repair --store facts",
    "records upgrade": "records upgrade --store facts",
    "records compact": "records compact --store facts",
    "records merge": "records merge facts --store others",
    "records export": "records export facts.csv --store facts",
}
"""Small calls, one or more for each command, run with `--json` in this order in one folder.

Slow ones are left out: `explore`, which reports the path of a page, and runs of the paper.
"""


def public_api() -> API:
    """The API of the package that Python imports."""
    found = {
        "python": dict(_python()),
        "command": dict(_options(typer.main.get_command(app), "recallscope")),
        "json": dict(_documents()),
    }
    return {part: dict(sorted(items.items())) for part, items in found.items()}


def as_text(api: API) -> str:
    """One name in each line."""
    return json.dumps(api, indent=1, ensure_ascii=False) + "\n"


def changes(before: API, after: API) -> str:
    """What was added, changed, renamed and removed, a line each."""
    lines = [line for part in after for line in _changes(part, before.get(part, {}), after[part])]
    return _HEAD + "".join(f"{line}\n" for line in lines)


def _changes(part: str, before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    renamed = _renamed(before, after)
    for name in sorted((before.keys() | after.keys()) - {*renamed.values()}):
        if name in renamed:
            yield f"renamed {part} {name} -> {renamed[name][_last(renamed[name]) :]}"
        elif name not in after:
            yield f"removed {part} {name}: {before[name]}"
        elif name not in before:
            yield f"added {part} {name}: {after[name]}"
        elif before[name] != after[name]:
            yield f"changed {part} {name}: {before[name]} -> {after[name]}"


def _renamed(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    """Old names and new ones: one thing has left a place, and one of the same kind has come."""
    gone = _alone(before.keys() - after.keys(), before)
    new = _alone(after.keys() - before.keys(), after)
    return {gone[kind]: new[kind] for kind in gone.keys() & new.keys()}


def _alone(names: set[str], api: dict[str, str]) -> dict[tuple[str, str], str]:
    """Names by where they are and what they are, if there is no other of the kind."""
    kinds = {name: (name[: _last(name)], api[name]) for name in names}
    counts = Counter(kinds.values())
    return {kind: name for name, kind in kinds.items() if counts[kind] == 1}


def _last(name: str) -> int:
    """Where the last part of a name begins."""
    return re.search(r"[\w/-]+[)\[\]>]*$", name.removesuffix("()")).start()


# Python: public names, and the classes of what they return.


def _python() -> Iterator[tuple[str, str]]:
    modules = _homes()
    todo = {name: getattr(recallscope, name) for name in recallscope.__all__}
    seen: set[str] = set()
    while todo:
        name, made = todo.popitem()
        seen.add(name)
        items = dict(_class(name, made) if inspect.isclass(made) else _callable(name, made))
        yield from items.items()
        # Users hold what functions return, so the classes of that are public, wherever they are.
        for item, what in items.items():
            if not re.search(r"\(\w+\)$", item):  # a parameter is what users pass
                words = re.findall(r"\w+", what.rpartition("-> ")[2].partition(" = ")[0])
                for each in {*words} & modules.keys() - seen:
                    todo[each] = getattr(import_module(modules[each]), each)


def _homes() -> dict[str, str]:
    """The module of each public class; names of classes are unique in the package."""
    return {
        name: ".".join(("recallscope", *path.relative_to(_SOURCE).with_suffix("").parts))
        for path in _SOURCE.rglob("*.py")
        for name in re.findall(r"^class ([A-Z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }


def _class(name: str, made: type) -> Iterator[tuple[str, str]]:
    bases = ", ".join(base.__name__ for base in made.__bases__ if base is not object)
    yield name, f"class {bases}".strip()
    if issubclass(made, enum.Enum):
        yield from ((f"{name}.{each.name}", repr(each.value)) for each in made)
    elif name in recallscope.__all__ and not issubclass(made, Exception):
        yield from _callable(name, made)
    fields = dataclasses.fields(made) if dataclasses.is_dataclass(made) else ()
    defaults = {field.name: _field_default(field) for field in fields}
    # Bases first: what a class itself says replaces what they say.
    for owner in reversed(made.__mro__):
        if owner.__module__.startswith("recallscope"):
            for field, kind in vars(owner).get("__annotations__", {}).items():
                if not field.startswith("_"):
                    yield f"{name}.{field}", _annotation(kind) + defaults.get(field, "")
            for member, what in vars(owner).items():
                if not member.startswith("_"):
                    yield from _member(f"{name}.{member}", what)


def _member(name: str, made: Any) -> Iterator[tuple[str, str]]:
    if isinstance(made, property | functools.cached_property):
        read = made.fget if isinstance(made, property) else made.func
        yield name, f"property -> {_annotation(inspect.signature(read).return_annotation)}"
    elif isinstance(made, classmethod | staticmethod):
        yield from _callable(name, made.__func__, first=int(isinstance(made, classmethod)))
    elif inspect.isfunction(made):
        yield from _callable(name, made, first=1)


def _callable(name: str, made: Any, first: int = 0) -> Iterator[tuple[str, str]]:
    """The order of its parameters, and a line for each of them."""
    asked = inspect.signature(made)
    parameters = [*asked.parameters.values()][first:]
    order = inspect.Signature([_bare(each) for each in parameters])
    returned = "" if inspect.isclass(made) else f" -> {_annotation(asked.return_annotation)}"
    yield f"{name}()", f"{order}{returned}".replace("=Ellipsis", "=...")
    if not hasattr(made, "__match_args__"):  # else they are fields, which have their own lines
        for each in parameters:
            yield f"{name}({each.name})", _annotation(each.annotation) + _default(each.default)


def _bare(each: inspect.Parameter) -> inspect.Parameter:
    """A parameter without its type, and with nothing but dots for a default."""
    empty = inspect.Parameter.empty
    return each.replace(annotation=empty, default=empty if each.default is empty else ...)


def _annotation(kind: Any) -> str:
    if kind is inspect.Parameter.empty:
        return "Any"
    kind = getattr(kind, "__forward_arg__", kind)
    text = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    return re.sub(r"(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])", "", text)


def _default(value: Any) -> str:
    return "" if value is inspect.Parameter.empty else f" = {_plain(value)}"


def _field_default(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return f" = {_plain(field.default_factory)}()"
    return "" if field.default is dataclasses.MISSING else f" = {_plain(field.default)}"


def _plain(value: Any) -> str:
    named = inspect.isfunction(value) or inspect.isclass(value)
    text = value.__qualname__ if named else re.sub(r" at 0x[0-9a-f]+", "", repr(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


# The command line.


def _options(command: Any, name: str) -> Iterator[tuple[str, str]]:
    yield name, "group" if hasattr(command, "list_commands") else "command"
    for each in command.params:
        if each.expose_value and each.name != "help":  # typer adds options that it handles itself
            typed = "/".join((*each.opts, *each.secondary_opts))
            shown = f"<{typed}>" if each.param_type_name == "argument" else typed
            yield f"{name} {shown}", _option(each)
    if hasattr(command, "list_commands"):
        context = typer.Context(command)
        for inner in command.list_commands(context):
            yield from _options(command.get_command(context, inner), f"{name} {inner}")


def _option(each: Any) -> str:
    many = getattr(each, "multiple", False) or each.nargs != 1
    typed = "flag" if getattr(each, "is_flag", False) else each.metavar or "TEXT"
    default = "required" if each.required else f"default {each.default!r}"
    return f"{typed}{'...' * many}, {default}"


# JSON documents.


def _documents() -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        rows = np.random.default_rng(0).standard_normal((64, 1)).astype("float32")
        np.save(place / "table.npy", rows)
        (place / "sweep.toml").write_text(_SWEEP, encoding="utf-8")
        for name, call in EXAMPLES.items():
            words = [f"{place / word}" if _is_file(word) else word for word in call.split()]
            kinds: dict[str, set[str]] = {}
            for key, kind in _keys(_document(words)):
                kinds.setdefault(key, set()).add(kind)
            for key, found in kinds.items():
                if name != "sweep --schema" or _OWN_SCHEMA.search(key):
                    kind = "it depends" if _DEPENDS.search(key) else " or ".join(sorted(found))
                    yield f"{name} {key}".strip(), kind


def _is_file(word: str) -> bool:
    return "." in word or word in ("facts", "others")


def _document(words: list[str]) -> Any:
    done = CliRunner().invoke(app, [*words, "--json"])
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        raise RuntimeError(f"{' '.join(words)}: {done.exception!r}: {done.output}") from None


def _keys(document: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every key with the type of what it has; those of lists are put together."""
    if isinstance(document, dict):
        yield name, "object"
        for key, value in document.items():
            yield from _keys(value, f"{name}.{key}".removeprefix("."))
    elif isinstance(document, list):
        yield name, "array"
        for each in document:
            yield from _keys(each, f"{name}[]")
    else:
        kinds = {bool: "boolean", int: "number", float: "number", str: "string"}
        yield name, kinds.get(type(document), "null")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        released = json.loads(RELEASED.read_text(encoding="utf-8"))
        CHANGES.write_text(changes(released, public_api()), encoding="utf-8")
    else:
        sys.stdout.write(as_text(public_api()))
