"""An embedding matrix in its file: rows are read when they are asked for, as float32."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recallscope.common.shapes import Float, Int64, UInt8
from recallscope.parts.given_files import opened
from recallscope.problem import ProblemError

Rows = Float[np.ndarray, "n d"]

Decode = Callable[[np.ndarray], np.ndarray]
"""From the bytes of some rows, n×bytes, to their numbers."""

MOST_ROWS, MOST_DIM = 2**31, 2**16


@dataclass(frozen=True)
class StoredTable:
    """Rows of numbers, one after another, in a file or in memory.

    Attributes:
        name: what its file calls it.
        kind: how its numbers are stored, in the words of the file: BF16, Q8_0, float32.
        where: the file and the place in it of the first row; or the rows themselves.
        row_bytes: of one row in the file.
        decode: from the bytes of some rows to their numbers.
    """

    name: str
    kind: str
    rows: int
    dim: int
    where: tuple[Path, int] | np.ndarray
    row_bytes: int = 0
    decode: Decode | None = None

    def read(self, start: int, stop: int) -> Rows:
        """Rows start…stop−1."""
        stop = min(stop, self.rows)
        if isinstance(self.where, np.ndarray):
            return _as_float32(self.where[start:stop])
        return self._decoded([(start, stop)], stop - start)

    def take(self, numbers: Int64[np.ndarray, " n"]) -> Rows:
        """Some rows, in the order of their numbers; neighbours are read at once."""
        if isinstance(self.where, np.ndarray):
            return _as_float32(self.where[numbers])
        if not len(numbers):
            return np.empty((0, self.dim), dtype=np.float32)
        breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
        first, last = numbers[np.r_[0, breaks]], numbers[np.r_[breaks, len(numbers)] - 1]
        runs = list(zip(first.tolist(), (last + 1).tolist(), strict=True))
        return self._decoded(runs, len(numbers))

    def _decoded(self, runs: list[tuple[int, int]], count: int) -> Rows:
        assert not isinstance(self.where, np.ndarray)
        assert self.decode is not None
        path, offset = self.where
        content = np.empty((count, self.row_bytes), dtype=np.uint8)
        filled = 0
        called = f"the file {str(path)!r:.200}"
        with opened(path, called) as file:
            for start, stop in runs:
                file.seek(offset + start * self.row_bytes)
                part = content[filled : filled + stop - start].reshape(-1).data
                if file.readinto(part) != part.nbytes:  # type: ignore[attr-defined]
                    raise ProblemError(f"{called} ends before its table")
                filled += stop - start
        return self.decode(content)


def check_shape(name: str, shape: Any) -> tuple[int, ...]:
    """The shape that a file claims, if an array can have it."""
    listed = isinstance(shape, (list, tuple)) and len(shape) <= 16
    if not listed or any(type(size) is not int or not 0 <= size < 2**48 for size in shape):
        raise ProblemError(f"the tensor {name!r:.80} claims an impossible shape: {shape!r:.80}")
    return tuple(shape)


def is_table(shape: tuple[int, ...]) -> bool:
    """Whether something of this shape can be an embedding matrix."""
    return len(shape) == 2 and 2 <= shape[0] <= MOST_ROWS and 1 <= shape[1] <= MOST_DIM


def table_of(array: np.ndarray, name: str) -> StoredTable:
    """An array in memory.

    >>> table_of(np.eye(3), "rows").read(0, 1)
    array([[1., 0., 0.]], dtype=float32)
    """
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise ProblemError(f"a table holds numbers of at most 8 bytes, not {array.dtype}")
    if not is_table(array.shape):
        raise ProblemError(
            f"a table has two or more rows of at most {MOST_DIM} numbers each, not the shape "
            f"{array.shape!s:.80}"
        )
    rows, dim = array.shape
    return StoredTable(name=name, kind=str(array.dtype), rows=rows, dim=dim, where=array)


def plain_numbers(kind: str) -> Decode:
    """How rows of a NumPy type are decoded."""

    def decode(content: UInt8[np.ndarray, "n bytes"]) -> Rows:
        return _as_float32(content.view(kind))

    return decode


def bfloat16(content: UInt8[np.ndarray, "n bytes"]) -> Rows:
    """The upper halves of float32 numbers.

    >>> bfloat16(np.array([[0x80, 0x3F, 0x00, 0xC0]], dtype=np.uint8))
    array([[ 1., -2.]], dtype=float32)
    """
    return (content.view("<u2").astype(np.uint32) << 16).view(np.float32)


def _as_float32(rows: np.ndarray) -> Rows:
    with np.errstate(over="ignore", invalid="ignore"):  # too large becomes infinite
        return np.ascontiguousarray(rows, dtype=np.float32)
