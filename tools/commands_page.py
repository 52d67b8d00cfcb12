"""The commands and their options, written into docs/commands.md when the site is built.

An extension of Python-Markdown, which replaces the line `[every command]`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from recallscope.cli import options
from recallscope.cli.commands import COMMANDS, load_command
from recallscope.cli.parsing import PROBLEM
from recallscope.problem.registry import KINDS, is_builtin, names

LINE = "[every command]"

_TEXT = """\
{units}

{commands}

## Options that commands share

{shared}
"""
_SHARED = {
    "problem": ("A problem", PROBLEM),
    "search": (
        "A search",
        ("target", "accuracy", "low", "high", "precision", "budget", "seed", "no_theory"),
    ),
    "tests": ("How runs are made", ("engine", "test_samples", "dtype", "device")),
    "place": ("Where they run", ("store", "executor", "workers", "address")),
    "output": ("What becomes of a result", options.OUTPUT),
}
"""Options that many commands have: a title, and their names."""


class Option(NamedTuple):
    """A row of a table: how it is typed, what it means, and its default."""

    typed: str
    meaning: str
    default: str

    def row(self) -> str:
        """As Markdown."""
        return f"| {self.typed} | {self.meaning} | {self.default} |"


def commands() -> dict[str, Any]:
    """Every command by its full name, `records list` for one of a group; groups are left out."""
    found: dict[str, Any] = {}
    for name in COMMANDS:
        command = load_command(name)
        inner = getattr(command, "commands", None)
        if inner is None:
            found[name] = command
        else:
            found |= {f"{name} {each}": inner[each] for each in inner}
    return found


@cache
def text() -> str:
    """What stands in the place of the line, in Markdown."""
    every = commands()
    shared = {name: _shared(group, every) for name, (_, group) in _SHARED.items()}
    tables = "\n\n".join(
        f"### {title} {{#{name}}}\n\n{_table(shared[name].values())}"
        for name, (title, _) in _SHARED.items()
    )
    sections = "\n\n".join(_section(name, command, shared) for name, command in every.items())
    return _TEXT.format(units=options.UNITS, commands=sections, shared=tables)


def _shared(group: Sequence[str], every: dict[str, Any]) -> dict[str, Option]:
    """The options of a group, as the commands have them that have most of it."""
    most = max(every.values(), key=lambda command: len({*group} & _names(command)))
    return {each.name: _option(each) for each in most.params if each.name in group}


def _names(command: Any) -> set[str]:
    return {each.name for each in command.params}


def _section(name: str, command: Any, shared: dict[str, dict[str, Option]]) -> str:
    summary, _, rest = inspect.cleandoc(command.help).partition("\n")
    text, _, examples = rest.partition("\b\nExamples:\n")
    own = {each.name: _option(each) for each in command.params if each.name != "help"}
    links: list[str] = []
    for place, group in shared.items():
        same = {each for each in group if own.get(each) == group[each]}
        if len(same) > 1:
            title, absent = _SHARED[place][0].lower(), group.keys() - _names(command)
            which = ""
            if absent:
                few = len(absent) < len(same)
                which = f" ({'without ' * few}{_listed(group, absent if few else same)})"
            links.append(f"[{title}](#{place}){which}")
            own = {each: option for each, option in own.items() if each not in same}
    parts = [f"## recallscope {name} {{#{name.replace(' ', '-')}}}", summary, text.strip()]
    if examples:
        parts.append(f"```console\n{inspect.cleandoc(examples)}\n```")
    if own:
        parts.append(_table(own.values()))
    if links:
        parts.append(f"Shared options: {'; '.join(links)}.")
    return "\n\n".join(part for part in parts if part)


def _listed(group: dict[str, Option], some: set[str]) -> str:
    """A few options of a group, in its order."""
    flags = [group[each].typed.split()[0].strip("`") for each in group if each in some]
    return ", ".join(f"`{flag}`" for flag in flags)


def _table(some: Any) -> str:
    return "\n".join(["| option | meaning | default |", "|---|---|---|", *(o.row() for o in some)])


def _option(each: Any) -> Option:
    meaning = re.sub(rf"{{({'|'.join((*KINDS, 'law'))})}}", _ours, each.help or "")
    metavar = f" {each.metavar}" if each.metavar else ""
    if each.param_type_name == "argument":
        typed = f"`{each.metavar}`"
    else:
        typed = " / ".join(f"`{flag}{metavar}`" for flag in flags_of(each))
    shown = each.default is not None and each.default is not False and not each.is_eager
    default = "required" if each.required else f"`{each.default}`" if shown else ""
    return Option(typed, meaning.replace("|", "\\|"), default)


def flags_of(each: Any) -> Iterator[str]:
    """The ways in which an option can be typed."""
    yield from each.opts
    yield from each.secondary_opts


def _ours(kind: re.Match[str]) -> str:
    """Names of parts, without those of other packages that happen to be installed."""
    return ", ".join(name for name in names(kind[1]) if is_builtin(kind[1], name))


class _EveryCommand(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        """Replace the line."""
        if LINE not in lines:
            return lines
        at = lines.index(LINE)
        return [*lines[:at], *text().split("\n"), *lines[at + 1 :]]


class _Commands(Extension):
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Before blocks of code are looked for."""
        md.preprocessors.register(_EveryCommand(md), "commands", 100)


def makeExtension(**options: object) -> Extension:  # noqa: N802
    """What Markdown asks for."""
    return _Commands(**options)
