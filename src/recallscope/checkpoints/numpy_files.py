"""Arrays that NumPy wrote: .npy and .npz. Pickles are refused."""

from __future__ import annotations

import io
import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from recallscope.checkpoints import stored_table
from recallscope.common.formatting import format_bytes
from recallscope.parts.given_files import open_regular
from recallscope.problem import ProblemError

_MOST_MEMBERS = 1000
_MOST_UNFOLDED = 2**29  # bytes in memory of arrays that cannot be read where they are
_LONGEST_HEADER = 2**16
_MOST_LISTED = 2**20  # bytes of the list of members
_AS_NUMPY_DOES = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def npy_header(file: BinaryIO | Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and kind of an array, from the header that a file is at."""
    return _HEADERS[np.lib.format.read_magic(file)](file)


def npy_table(path: Path) -> stored_table.StoredTable:
    """The array of a .npy file, which is read where it is."""
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        shape, by_columns, kind, start = _described(file, path.name)
        file.seek(start)
        claimed = kind.itemsize * math.prod(shape)
        if claimed > size - start:
            raise ProblemError(
                f"the file {str(path)!r:.200} claims {claimed} bytes and has {size - start}"
            )
        if not by_columns:
            row_bytes, decode = kind.itemsize * shape[1], stored_table.plain_numbers(kind.str)
            place = (path, start)
            return stored_table.StoredTable(
                path.stem, str(kind), shape[0], shape[1], place, row_bytes, decode
            )
        _check_memory(path, claimed)
        content = np.frombuffer(file.read(claimed), dtype=kind)
        return stored_table.table_of(content.reshape(shape[::-1]).T, path.stem)


def npz_tables(path: Path) -> dict[str, stored_table.StoredTable]:
    """All matrices of a .npz file."""
    with _opened(path) as file, _listed(file, path) as archive:
        members = [name for name in archive.namelist() if name.endswith(".npy")]
        if len(members) > _MOST_MEMBERS:
            raise ProblemError(f"the file {str(path)!r:.200} has more than {_MOST_MEMBERS} arrays")
        shapes = {}
        for name in members:
            if archive.getinfo(name).compress_type not in _AS_NUMPY_DOES:
                raise ProblemError(f"the array {name!r:.80} is not compressed as NumPy does")
            with archive.open(name) as member:
                shape, _, kind, _ = _described(member, name, any_shape=True)
            claimed = kind.itemsize * math.prod(shape)
            if claimed > archive.getinfo(name).file_size:
                raise ProblemError(
                    f"the array {name!r:.80} claims {claimed} bytes but the file holds fewer"
                )
            if stored_table.is_table(shape) and kind.kind == "f":
                shapes[name] = claimed
        _check_memory(path, sum(shapes.values()))
        found = {}
        for name in shapes:
            with archive.open(name) as member:
                array = np.lib.format.read_array(member, allow_pickle=False)
            called = name.removesuffix(".npy")
            found[called] = stored_table.table_of(array, called)
        return found


def _listed(file: BinaryIO, path: Path) -> zipfile.ZipFile:
    """An archive; its list of members is read only if it is short."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 2**16 - 22))
    tail = file.read()
    at = tail.rfind(b"PK\5\6")
    length = int.from_bytes(tail[at + 12 : at + 16], "little")
    if at < 0 or length > _MOST_LISTED or b"PK\6\7" in tail:
        raise ProblemError(
            f"the file {str(path)!r:.200} is no .npz file, or has too much in it; write the table "
            "with np.save"
        )
    return zipfile.ZipFile(file)


def _described(
    file: BinaryIO | Any, name: str, any_shape: bool = False
) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, order and kind of an array, from its header, and how long that is.

    NumPy would read as many bytes as the header claims before it checks them.
    """
    content = io.BytesIO(file.read(_LONGEST_HEADER))
    shape, by_columns, kind = npy_header(content)
    if kind.hasobject:
        raise ProblemError(f"the array {name!r:.80} holds Python objects; numbers are needed")
    shape = stored_table.check_shape(name, shape)
    if not any_shape and not (stored_table.is_table(shape) and kind.kind in "fiu"):
        raise ProblemError(
            f"the array {name!r:.80} has the shape {shape!s:.80} and the type {kind!s:.40}; "
            "an embedding matrix has two or more rows of numbers"
        )
    return shape, by_columns, kind, content.tell()


def _check_memory(path: Path, claimed: int) -> None:
    if claimed > _MOST_UNFOLDED:
        raise ProblemError(
            f"the arrays of {str(path)!r:.200} would take {format_bytes(claimed)} of memory; write "
            "the table with np.save, by rows, which is read where it is"
        )


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with open_regular(path) as file:
            yield file
    except ProblemError:
        raise
    except Exception as error:  # a damaged file can make NumPy raise nearly anything
        reason = str(error).strip().splitlines() or [type(error).__name__]
        why = f"the file {str(path)!r:.200} cannot be read: {reason[0][:100]}"
        raise ProblemError(why) from None
