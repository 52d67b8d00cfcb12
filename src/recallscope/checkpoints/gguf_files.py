"""GGUF: fields, descriptions of tensors, and their data. Quantised rows are decoded here.

The header is read by code in this file. The reader of the gguf package makes an object of each
field. It does not end on a list that claims to be longer than its file. That package decodes the
rows.
"""

from __future__ import annotations

import math
import os
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from recallscope.checkpoints import stored_table
from recallscope.common.extras import missing
from recallscope.parts.given_files import opened
from recallscope.problem import ProblemError

_MOST_HEADER = 2**26
_MOST_FIELDS, _MOST_TENSORS, _MOST_ITEMS = 10_000, 200_000, 2_000_000
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q"}
_NUMBERS |= {12: "d"}
_TEXT, _LIST = 8, 9
_PLAIN: dict[int, tuple[str, int, stored_table.Decode]] = {
    0: ("F32", 4, stored_table.plain_numbers("<f4")),
    1: ("F16", 2, stored_table.plain_numbers("<f2")),
    28: ("F64", 8, stored_table.plain_numbers("<f8")),
    30: ("BF16", 2, stored_table.bfloat16),
}
_TOKENS = "tokenizer.ggml.tokens"
_ALIGNMENT = "general.alignment"


class GgufContent(NamedTuple):
    """What an audit needs of a file."""

    tables: dict[str, stored_table.StoredTable]
    tokens: list[str] | None


def gguf_content(path: Path) -> GgufContent:
    """The matrices of a file by name, and its tokens."""
    called = f"the file {str(path)!r:.200}"
    with opened(path, called) as file:
        size = os.fstat(file.fileno()).st_size
        return _content(_Header(file.read(_MOST_HEADER), called), path, size)


class _Header:
    """The bytes of a header, read from front to back, and never beyond its end."""

    def __init__(self, content: bytes, called: str) -> None:
        self._content, self._called, self.at = content, called, 0

    def corrupt(self, why: str) -> ProblemError:
        return ProblemError(f"{self._called} is no GGUF file that can be read: {why}")

    def skip(self, count: int) -> int:
        """Where the next so many bytes begin; they are skipped."""
        if count > len(self._content) - self.at:
            raise self.corrupt("its header is cut off, or longer than 64 MiB")
        self.at += count
        return self.at - count

    def number(self, kind: str) -> Any:
        return struct.unpack_from(f"<{kind}", self._content, self.skip(struct.calcsize(kind)))[0]

    def text(self) -> str:
        length = self.number("Q")
        start = self.skip(length)
        return self._content[start : start + length].decode("utf-8", errors="replace")

    def value(self, kind: int, keep: bool) -> Any:
        """A value of some kind; of lists only those of texts, and only if they are to be kept."""
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind == _TEXT:
            return self.text()
        if kind != _LIST:
            raise self.corrupt(f"it has a value of the unknown kind {kind}")
        inner, count = self.number("I"), self.number("Q")
        if inner in _NUMBERS:
            self.skip(count * struct.calcsize(_NUMBERS[inner]))
            return None
        if inner != _TEXT or count > _MOST_ITEMS:
            raise self.corrupt(f"it has a list of {count} values of the kind {inner}")
        if keep:
            return [self.text() for _ in range(count)]
        for _ in range(count):
            self.skip(self.number("Q"))
        return None


def _content(header: _Header, path: Path, size: int) -> GgufContent:
    if header.number("I") != 0x46554747:
        raise header.corrupt("it does not begin with GGUF")
    version = header.number("I")
    if version not in (2, 3):
        raise header.corrupt(f"it is of version {version}; 2 and 3 are read")
    tensors, fields = header.number("Q"), header.number("Q")
    if tensors > _MOST_TENSORS or fields > _MOST_FIELDS:
        raise header.corrupt(f"it claims {tensors} tensors and {fields} fields")
    kept: dict[str, Any] = {}
    for _ in range(fields):
        name = header.text()
        value = header.value(header.number("I"), keep=name == _TOKENS)
        if name in (_TOKENS, _ALIGNMENT):
            kept[name] = value
    described = [_tensor(header) for _ in range(tensors)]
    align = kept.get(_ALIGNMENT, 32)
    if not isinstance(align, int) or not 0 < align <= 2**20 or align & (align - 1):
        raise header.corrupt(f"it has the alignment {align!r:.40}")
    start = math.ceil(header.at / align) * align
    tables = {}
    for name, shape, kind, offset in described:
        if stored_table.is_table(shape):
            row_bytes, decode, called = _row(kind, shape[1])
            if not row_bytes:
                continue
            if start + offset + row_bytes * shape[0] > size:
                raise header.corrupt(f"its tensor {name!r:.80} is cut off")
            tables[name] = stored_table.StoredTable(
                name, called, shape[0], shape[1], (path, start + offset), row_bytes, decode
            )
    tokens = kept.get(_TOKENS)
    return GgufContent(tables, tokens if isinstance(tokens, list) else None)


def _tensor(header: _Header) -> tuple[str, tuple[int, ...], int, int]:
    """Name, shape, kind and place of a tensor; GGUF gives the length of a row first."""
    name, count = header.text(), header.number("I")
    if count > 4:
        raise header.corrupt(f"its tensor {name!r:.80} has {count} dimensions")
    sizes = [header.number("Q") for _ in range(count)]
    return name, tuple(reversed(sizes)), header.number("I"), header.number("Q")


def _row(kind: int, dim: int) -> tuple[int, stored_table.Decode | None, str]:
    """How many bytes a row has and how to decode it; 0 bytes if it cannot be decoded."""
    if kind in _PLAIN:
        called, size, decode = _PLAIN[kind]
        return size * dim, decode, called
    found = _quantised(kind)
    if found is None or dim % found[0]:
        return 0, None, str(kind)
    block, size, called, decode = found
    return dim // block * size, decode, called


def _quantised(kind: int) -> tuple[int, int, str, stored_table.Decode] | None:
    """A kind by the gguf package: block, bytes of a block, name and how to decode."""
    try:
        from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, dequantize
    except ModuleNotFoundError:
        raise ProblemError(missing("gguf")) from None
    try:
        block, size = GGML_QUANT_SIZES[known := GGMLQuantizationType(kind)]
        dequantize(np.zeros(size, np.uint8), known)  # the package cannot decode all kinds
    except (KeyError, ValueError, NotImplementedError):
        return None

    def decode(content: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(dequantize(content, known), dtype=np.float32)

    return block, size, known.name, decode
