"""Tables as CSV files: plain rows out, plain rows in."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from recallscope.common.errors import ProblemError
from recallscope.common.given_files import read_regular
from recallscope.common.new_files import written_next_to

_MOST_BYTES = 2**23  # of a table that is read
FORMULA = r"^([=+\-@\t\r])"
"""How a text begins that a spreadsheet would take for a formula."""

_UNITS = {"k": "e3", "M": "e6", "B": "e9"}
_WORDS = {"True": True, "False": False, "": None}


def check_output(path: str | Path, what: str, formats: tuple[str, ...]) -> Path:
    """The path of a file to be written, or an error before anything is computed."""
    path = Path(path)
    if path.suffix.lower() not in formats:
        raise ProblemError(f"a {what} is written as {', '.join(formats)}, not {path.name!r:.200}")
    if "\0" in str(path):
        raise ProblemError(f"the {what} cannot be written to {str(path)!r:.200}")
    try:
        if not path.parent.is_dir():
            raise ProblemError(
                f"there is no folder {str(path.parent)!r:.200} to write the {what} to"
            )
        if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            raise ProblemError(f"the {what} cannot be written to {str(path)!r:.200}")
    except OSError as error:  # a name that is too long
        why = error.strerror
        raise ProblemError(f"the {what} cannot be written to {str(path)!r:.200}: {why}") from None
    return path


def write_csv(rows: Iterable[Mapping[str, Any]], path: str | Path) -> None:
    """Write rows that all have the columns of the first; None is an empty cell.

    The file is written next to the path and then moved there: no half of a table is ever seen.
    """
    path, rows = check_output(path, "table", (".csv",)), iter(rows)
    first = next(rows, None)
    with (
        written_next_to(path, "table") as part,
        part.open("w", newline="", encoding="utf-8") as file,
    ):
        if first is not None:
            _write(file, list(first), chain([first], rows))


def csv_text(head: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as the text of a table, with no cell that a spreadsheet would take for a formula."""
    text = io.StringIO(newline="")
    _write(text, head, rows)
    return text.getvalue()


def _write(file: TextIO, head: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    writer = csv.DictWriter(file, head)
    for row in chain([{name: name for name in head}], rows):
        writer.writerow({name: _cell(value) for name, value in row.items()})


def _cell(value: Any) -> Any:
    return re.sub(FORMULA, r"'\1", value) if isinstance(value, str) else value


def read_csv(path: str | Path) -> list[dict[str, Any]]:
    """The rows of a table; a cell that reads as a number is one, and an empty cell is None."""
    content = read_regular(path, "table", _MOST_BYTES)
    try:
        text = content.decode("utf-8-sig")  # spreadsheets begin their files with a byte order mark
        rows = list(csv.DictReader(io.StringIO(text, newline=""), restkey=""))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ProblemError(f"the table {str(path)!r} cannot be read: {error}") from None
    for line, row in enumerate(rows, start=2):
        if "" in row or None in row.values():
            raise ProblemError(
                f"line {line} of {str(path)!r} does not have as many cells as the header"
            )
    return [{_plain(name): _value(_plain(cell)) for name, cell in row.items()} for row in rows]


def _plain(cell: str) -> str:
    """A cell without the quote that `write_csv` puts before what looks like a formula."""
    return cell[1:] if cell[:1] == "'" and re.match(FORMULA, cell[1:]) else cell


def _value(cell: str) -> Any:
    return _WORDS[cell] if cell in _WORDS else number_or_text(cell)


def number_or_text(text: str) -> Any:
    """The number that a text reads as, or the text; the caller checks for a number.

    >>> number_or_text("64"), number_or_text("1e3"), number_or_text("many")
    (64, 1000.0, 'many')

    A thousand is k, a million M and a billion B:

    >>> number_or_text("50k"), number_or_text("1.5M"), number_or_text("1B"), number_or_text("1m")
    (50000.0, 1500000.0, 1000000000.0, '1m')

    A number beyond the range of floating-point numbers stays a text:

    >>> number_or_text("inf"), number_or_text("1e400")
    (inf, '1e400')
    """
    unit = _UNITS.get(text[-1:])
    try:
        number = float(text[:-1] + unit if unit else text)
    except ValueError:
        return text
    if math.isinf(number) and "inf" not in text.lower():
        return text
    try:
        return int(text)
    except ValueError:
        return number
