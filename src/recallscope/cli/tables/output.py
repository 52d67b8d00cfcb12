"""What every command may print: one JSON document, the problem it is about, or a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from recallscope.cli.terminal import console, printable_lines
from recallscope.common.plain import finite
from recallscope.problem import Problem


def print_json(document: dict[str, Any] | list[dict[str, Any]]) -> None:
    """JSON has neither infinity nor NaN: what is no number is null."""
    try:
        print(json.dumps(document, indent=2, allow_nan=False))
    except ValueError:  # seldom, so that the document is gone through only then
        print(json.dumps(finite(document), indent=2, allow_nan=False))


def print_either(as_json: bool, document: Any, print_it: Callable[..., None], *found: Any) -> None:
    """One JSON document for programs, or what people read."""
    if as_json:
        print_json(document)
    else:
        print_it(*found)


def say(*sentences: object) -> None:
    """Print each sentence that there is; `lost and f"{lost} are lost."` is none if none is lost."""
    for each in sentences:
        if each:
            print(each)


def capital(sentence: str) -> str:
    """With a capital letter, the others as they are."""
    return sentence[:1].upper() + sentence[1:]


def print_problem(problem: Problem, sought: str | None = None) -> None:
    """The fields of a problem, without a size that is sought and so has no value."""
    given = ", ".join(
        f"{name}={value}"
        for name, value in problem.to_dict().items()
        if value is not None and name != sought
    )
    print(given)


def print_table(
    head: Sequence[str], rows: Iterable[Sequence[str] | None], right: slice = slice(1, None)
) -> None:
    """A table, with the columns of numbers to the right; a line is drawn where a row is None."""
    from rich.table import Table  # here: what is only asked for help does not wait for it

    table = Table(*map(printable_lines, head), show_header=any(head))
    table.columns[0].overflow = "fold"
    for column in table.columns[right]:
        column.justify = "right"
    for row in rows:
        if row is None:
            table.add_section()
        else:
            table.add_row(*map(printable_lines, row))
    console().print(table)
