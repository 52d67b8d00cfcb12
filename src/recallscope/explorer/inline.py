"""Modules of JavaScript in one script, as a page from a disk cannot load modules."""

from __future__ import annotations

import re
from importlib.resources.abc import Traversable
from posixpath import dirname, join, normpath

_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|function) (\w+))", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def inline(folder: Traversable, entry: str) -> str:
    """All modules that an entry needs, each in a separate function, in the order of imports.

    Modules import names in braces from files, and export constants and functions at their
    definition; anything else is an error.
    """
    made: dict[str, str] = {}
    _add(folder, entry, made, ())
    return f'"use strict";\n(() => {{\nconst modules = {{}};\n{"".join(made.values())}}})();\n'


def _add(folder: Traversable, name: str, made: dict[str, str], above: tuple[str, ...]) -> None:
    if name in made:
        return
    if name in above:
        raise ValueError(f"modules import each other: {' → '.join((*above, name))}")
    text = folder.joinpath(*name.split("/")).read_text(encoding="utf-8")
    for match in _IMPORT.finditer(text):
        _add(folder, _next_to(name, match[2]), made, (*above, name))

    def taken(match: re.Match[str]) -> str:
        names = ", ".join(imported for imported in re.split(r"[\s,]+", match[1]) if imported)
        return f'const {{ {names} }} = modules["{_next_to(name, match[2])}"];\n'

    exported = _EXPORT.findall(text)
    body = _EXPORT.sub("", _IMPORT.sub(taken, text))
    if strange := _OTHER.search(body):
        raise ValueError(f"{name}: {strange[0]!r} is not an import or export that can be inlined")
    returned = f"return {{ {', '.join(exported)} }};\n" if exported else ""
    made[name] = f'modules["{name}"] = (() => {{\n{body}{returned}}})();\n'


def _next_to(name: str, other: str) -> str:
    return normpath(join(dirname(name), other))
