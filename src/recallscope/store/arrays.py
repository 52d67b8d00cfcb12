"""Embeddings of the user's in a store: kept once, in a file that is named by their content."""

from __future__ import annotations

import io
import re

from recallscope.models.embeddings import Embeddings
from recallscope.parts.naming import ARRAYS
from recallscope.store.files import MOST_BYTES, Files, NotAFileError, StoreError

_FILE = re.compile(r"arrays-[0-9a-f]{16}\.npz")
_HEADERS = 2**16  # bytes of a file that are not numbers, at the most


def is_arrays_file(name: str) -> bool:
    """Whether a file of this name is taken for arrays."""
    return _FILE.fullmatch(name) is not None


def keep_arrays(files: Files, arrays: Embeddings) -> None:
    """Keep arrays, unless they are there already or too large for one file."""
    name, content = _file_of(arrays.name), io.BytesIO()
    if arrays.nbytes + _HEADERS <= MOST_BYTES and name not in files.names():
        arrays.save(content)
        files.write(name, content.getvalue())


def read_arrays(files: Files, name: str) -> Embeddings:
    """The arrays of this name, or `StoreError` if they are not there."""
    try:
        content = files.read(_file_of(name))
    except (NotAFileError, OSError):
        raise StoreError(f"the store {files.place!r} has no {name!r:.60}") from None
    found = Embeddings.from_bytes(content, f"{files.place}/{_file_of(name)}")
    if found.name != name:
        raise StoreError(f"the store {files.place!r} has other numbers as {name!r:.60}")
    return found


def copy_arrays(source: Files, target: Files) -> None:
    """Keep all arrays of one store in another."""
    for name in filter(is_arrays_file, source.names()):
        keep_arrays(target, read_arrays(source, name.removesuffix(".npz").replace("-", ":")))


def _file_of(name: str) -> str:
    if not ARRAYS.fullmatch(name):
        raise StoreError(f"arrays are named as in arrays:0123456789abcdef, not {name!r:.60}")
    return f"{name.replace(':', '-')}.npz"
