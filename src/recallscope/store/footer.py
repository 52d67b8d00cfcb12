"""The footer of a Parquet file: its columns, read without Arrow.

Sizes must be known before anything is read. But for some forged footers Arrow ends the whole
process when it is asked for the size of a column, by an exception of C++. A footer is one Thrift
structure in the compact protocol, with numbered fields. A few of them are needed, and the rest is
skipped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

_MOST_FIELDS = 10**6  # read in about a second; a column of a row group has about forty
_DEEPEST = 32


class ColumnSize(NamedTuple):
    """One column of a row group."""

    values: int
    bytes: int


class FooterError(Exception):
    """Bytes that are not a footer."""


def column_sizes(content: bytes) -> list[ColumnSize]:
    """The sizes of all columns of all row groups of a Parquet file."""
    length = int.from_bytes(content[-8:-4], "little")
    if content[-4:] != b"PAR1" or length + 8 > len(content):
        raise FooterError("no footer")
    try:
        about = _Reader(content[-8 - length : -8]).structure()
        columns = [column[3] for group in about[4] for column in group[1]]
        return [ColumnSize(int(column[5]), int(column[6])) for column in columns]
    except (LookupError, TypeError) as error:
        raise FooterError("a footer that cannot be read") from error


class _Reader:
    """Reads one structure after the other; each is a dictionary of its fields by number."""

    def __init__(self, content: bytes) -> None:
        self._content, self._place, self._fields = content, 0, 0

    def structure(self, depth: int = 0) -> dict[int, Any]:
        if depth > _DEEPEST:
            raise FooterError("a footer that is too deep")
        found: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._signed()
            # The value of a truth value is in its kind.
            found[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        self._fields += 1
        if self._fields > _MOST_FIELDS:
            raise FooterError("a footer with too many fields")
        match kind:
            case 1 | 2 | 3:  # truth values in a list, and bytes
                return self._byte()
            case 4 | 5 | 6:  # whole numbers
                return self._signed()
            case 7:
                return self._step_over(8)
            case 8:
                return self._step_over(self._unsigned())
            case 9 | 10:
                return self._list(depth)
            case 12:
                return self.structure(depth + 1)
        raise FooterError("a footer with a field of no known kind")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._unsigned()
        if size > len(self._content) - self._place:  # each takes a byte at least
            raise FooterError("a footer that ends too early")
        return [self._value(head & 15, depth + 1) for _ in range(size)]

    def _step_over(self, size: int) -> None:
        self._place += size

    def _byte(self) -> int:
        self._place += 1
        return self._content[self._place - 1]

    def _unsigned(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise FooterError("a footer with a number that is too long")

    def _signed(self) -> int:
        number = self._unsigned()
        return number >> 1 ^ -(number & 1)
