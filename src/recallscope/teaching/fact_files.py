"""Rows of a file of facts with their lines: JSON lines, CSV, Parquet, or a table of `datasets`.

Everything is read in pieces of a bounded size. A row is a dictionary as its file has it; what a
fact must have is checked in `facts`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from recallscope.common.csv_files import number_or_text
from recallscope.common.errors import ProblemError, did_you_mean
from recallscope.common.given_files import opened

ENDINGS = (".jsonl", ".csv", ".parquet")
MOST_LINE = 2**20
"""Bytes of a line, or of a text in Parquet."""
_MOST_GROUP = 2**30  # bytes of a column in a group of rows of Parquet
_AT_ONCE = 1000  # rows

Rows = Iterator[tuple[int, dict[str, Any]]]


def rows_of(path: Path, called: str, columns: Sequence[str], optional: Sequence[str]) -> Rows:
    """Lines and rows of a file; those of CSV and Parquet have the columns and no others.

    Args:
        path: the file; its ending says its kind.
        called: what errors call it.
        columns: those that must be there.
        optional: those that may be there.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ProblemError(
            f"{called} must end in {', '.join(ENDINGS)}, not {ending!r:.20}; convert it, or give "
            "a Dataset of the library datasets"
        )
    read = {".jsonl": _json_lines, ".csv": _csv, ".parquet": _parquet}[ending]
    with opened(path, called) as file:
        yield from read(file, called, columns, optional)


def rows_of_table(table: Any, called: str, columns: Sequence[str], optional: Sequence[str]) -> Rows:
    """The same of a Dataset of the library datasets; lines are numbered from 1."""
    used = check_columns(table.column_names, called, columns, optional)
    line = 0
    for batch in table.select_columns(used).with_format(None).iter(_AT_ONCE):
        for values in zip(*(batch[name] for name in used), strict=True):
            line += 1
            yield line, dict(zip(used, values, strict=True))


def check_columns(
    present: Sequence[str], called: str, columns: Sequence[str], optional: Sequence[str]
) -> list[str]:
    """The columns that are used; an error if one that must be there is not."""
    for name in columns:
        if name not in present:
            listed = ", ".join(map(str, present))
            raise ProblemError(
                f"{called} must have the column {name!r}; it has {listed:.200}"
                f"{did_you_mean(name, present)}"
            )
    return [*columns, *(name for name in optional if name in present)]


def _json_lines(
    file: BinaryIO, called: str, columns: Sequence[str], optional: Sequence[str]
) -> Rows:
    for line, text in _lines(file, called):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            raise ProblemError(
                f"line {line} of {called} must be an object of JSON, not {text.strip()!r:.60}"
            ) from None
        if not isinstance(row, dict):
            raise ProblemError(
                f"line {line} of {called} must be an object of JSON, not {row!r:.60}"
            )
        missing = [name for name in columns if name not in row]
        if missing:
            check_columns([*row], f"line {line} of {called}", columns, optional)
        yield line, row


def _csv(file: BinaryIO, called: str, columns: Sequence[str], optional: Sequence[str]) -> Rows:
    reader = csv.reader((text for _, text in _lines(file, called)), strict=True)
    head: list[str] | None = None
    line = 1
    try:
        for cells in reader:
            if head is None:
                head = cells
                check_columns(head, called, columns, optional)
            elif cells:
                if len(cells) != len(head):
                    raise ProblemError(
                        f"line {line} of {called} must have {len(head)} cells, not {len(cells)}; "
                        "put quotes around a text with a comma"
                    )
                row: dict[str, Any] = dict(zip(head, cells, strict=True))
                for name in optional[1:]:  # the count, a number; all other cells are texts
                    if name in row:
                        row[name] = number_or_text(row[name])
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise ProblemError(f"line {line} of {called} cannot be read: {error}") from None


def _lines(file: BinaryIO, called: str) -> Iterator[tuple[int, str]]:
    line = 0
    while content := file.readline(MOST_LINE + 1):
        line += 1
        if len(content) > MOST_LINE:
            raise ProblemError(
                f"line {line} of {called} must have at most {MOST_LINE:,} bytes; cut it into facts"
            )
        try:  # spreadsheets begin their files with a byte order mark
            yield line, content.decode("utf-8-sig" if line == 1 else "utf-8")
        except UnicodeDecodeError:
            raise ProblemError(
                f"line {line} of {called} must be UTF-8; save the file in that encoding"
            ) from None


def _parquet(file: BinaryIO, called: str, columns: Sequence[str], optional: Sequence[str]) -> Rows:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    try:
        table = parquet.ParquetFile(file)
        used = check_columns(table.schema_arrow.names, called, columns, optional)
        for group in range(table.num_row_groups):
            parts = table.metadata.row_group(group)
            for place in range(parts.num_columns):
                if parts.column(place).total_uncompressed_size > _MOST_GROUP:
                    raise ProblemError(
                        f"{called} has more than 1 GiB in a column of a group of rows; write it "
                        "in groups of 100,000 rows"
                    )
        # As dictionaries: a long text that many rows have is there once, and its length is seen.
        texts = [name for name in used if pa.types.is_string(table.schema_arrow.field(name).type)]
        table = parquet.ParquetFile(file, read_dictionary=texts)
        line = 0
        for batch in table.iter_batches(_AT_ONCE, columns=used):
            for name in texts:
                longest = pc.max(pc.binary_length(batch.column(name).dictionary)).as_py() or 0
                if longest > MOST_LINE:
                    raise ProblemError(
                        f"a text in the column {name!r} of {called} must have at most "
                        f"{MOST_LINE:,} bytes; cut it into facts"
                    )
            for row in batch.to_pylist():
                line += 1
                yield line, row
    except (pa.ArrowException, OSError) as error:
        why = " ".join(str(error).split())[:100]
        raise ProblemError(f"{called} must be a file of Parquet: {why}") from None
