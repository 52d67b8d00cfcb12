"""safetensors: a length, a header in JSON, and the tensors one after another.

The format is small enough to be read here. The library needs torch for bfloat16, and allows headers
of a hundred megabytes; here torch is not needed, and the bound is tighter.
"""

from __future__ import annotations

import itertools
import math
import os
from pathlib import Path
from typing import Any

from recallscope.checkpoints import stored_table
from recallscope.checkpoints.bounded_json import parse_json, read_json
from recallscope.parts.given_files import opened
from recallscope.problem import ProblemError

_MOST_HEADER = 2**24
_MOST_TENSORS = 200_000
_MOST_SHARDS = 10_000
_SIZES = {"BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1}
_SIZES |= {"I16": 2, "U16": 2, "F16": 2, "BF16": 2, "I32": 4, "U32": 4, "F32": 4}
_SIZES |= {"F64": 8, "I64": 8, "U64": 8, "C64": 8}
_NUMPY = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}


def safetensors_tables(path: Path) -> dict[str, stored_table.StoredTable]:
    """All matrices of floating-point numbers in a file, by name."""
    header, start, size = _header(path)
    called = f"the file {str(path)!r:.200}"
    found, taken = {}, []
    for name, data in header.items():
        if name == "__metadata__":
            continue
        kind, shape, (first, end) = _described(name, data)
        if end > size - start or end - first != _SIZES[kind] * math.prod(shape):
            raise ProblemError(
                f"{called} says that its tensor {name!r:.80} ({kind}, {list(shape)}) is in the "
                f"bytes {first} to {end} of {size - start}: it is corrupt or cut off"
            )
        taken.append((first, end))
        if stored_table.is_table(shape) and (kind in _NUMPY or kind == "BF16"):
            numbers = _NUMPY.get(kind)
            decode = stored_table.plain_numbers(numbers) if numbers else stored_table.bfloat16
            place, row_bytes = (path, start + first), _SIZES[kind] * shape[1]
            found[name] = stored_table.StoredTable(
                name, kind, shape[0], shape[1], place, row_bytes, decode
            )
    taken.sort()
    if any(after[0] < before[1] for before, after in itertools.pairwise(taken)):
        raise ProblemError(f"{called} has tensors that overlap: it is corrupt")
    return found


def sharded_tables(index: Path) -> dict[str, stored_table.StoredTable]:
    """The matrices of all files that an index names; they are next to it."""
    places = read_json(index, "index", _MOST_HEADER).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise ProblemError(f"the index {str(index)!r:.200} has no weight_map")
    shards = sorted({str(shard) for shard in places.values()})
    if len(shards) > _MOST_SHARDS or any(not each or Path(each).name != each for each in shards):
        raise ProblemError(
            f"the index {str(index)!r:.200} names files that are not next to it, or more than "
            f"{_MOST_SHARDS}"
        )
    found: dict[str, stored_table.StoredTable] = {}
    for shard in shards:
        inside = safetensors_tables(index.with_name(shard))
        found |= {name: each for name, each in inside.items() if places.get(name) == shard}
    return found


def _header(path: Path) -> tuple[dict[str, Any], int, int]:
    """The header, where the tensors begin, and how long the file is."""
    called = f"the file {str(path)!r:.200}"
    with opened(path, called) as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > size - 8:
            raise ProblemError(f"{called} is no safetensors file, or cut off")
        if length > _MOST_HEADER:
            raise ProblemError(
                f"{called} has a header of {length / 2**20:.0f} MiB; at most "
                f"{_MOST_HEADER // 2**20} are read"
            )
        content = file.read(length)
    header = parse_json(content, f"the header of {str(path)!r:.200}")
    if len(header) > _MOST_TENSORS:
        raise ProblemError(f"{called} has more than {_MOST_TENSORS} tensors")
    return header, 8 + length, size


def _described(name: str, data: Any) -> tuple[str, tuple[int, ...], tuple[int, int]]:
    """Kind, shape and place of a tensor."""
    try:
        kind, shape = data["dtype"], stored_table.check_shape(name, data["shape"])
        first, end = data["data_offsets"]
        whole = type(first) is type(end) is int
        if kind not in _SIZES or not whole or not 0 <= first <= end:
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise ProblemError(f"the tensor {name!r:.80} is described as {data!r:.100}") from None
    return kind, shape, (first, end)
