"""`recallscope parts`: what a problem can name, and the fields that each part adds to problems."""

from __future__ import annotations

import textwrap
from typing import Annotated, Any

import typer

from recallscope.cli.options import AsJson, named
from recallscope.cli.output import print_either
from recallscope.common.checks import choice
from recallscope.problem.field import Field
from recallscope.problem.naming import find_part
from recallscope.problem.part import fields_of
from recallscope.problem.registry import KINDS, names


def parts(
    kind: Annotated[str | None, named(KINDS, argument=True, metavar="KIND")] = None,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Of a part; all of the kind otherwise.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the parts of a kind, or the fields that a part adds to problems.

    Give a field by --field NAME=VALUE, or in Python by its name.

    \b
    Examples:
      recallscope parts
      recallscope parts learner adam
      recallscope parts embedding structured --json
    """
    if kind is None:
        document: Any = {kind: names(kind) for kind in KINDS}
        lines = [f"{kind}: {', '.join(listed)}" for kind, listed in document.items()]
    else:
        choice("kind", kind, KINDS)
        listed = names(kind) if name is None else [name]
        fields = {part: fields_of(find_part(kind, part)) for part in listed}
        document = {
            part: {called: _about(field) for called, field in fields[part].items()}
            for part in listed
        }
        lines = [line for part in listed for line in _lines(part, document[part])]
    print_either(as_json, document, print, "\n".join(lines))


def _about(field: Field) -> dict[str, Any]:
    ends = [] if field.low is None else [f"from {field.low:g}"]
    ends += [] if field.high is None else [f"to {field.high:g}"]
    values = ", ".join(field.choices) or " ".join([type(field.default).__name__, *ends])
    return {"default": field.default, "values": values, "help": field.help}


def _lines(part: str, fields: dict[str, dict[str, Any]]) -> list[str]:
    lines = [part if fields else f"{part}: no fields"]
    for name, about in fields.items():
        lines.append(f"  {name}={about['default']}  ({about['values']})")
        lines += textwrap.wrap(about["help"], 80, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return lines
