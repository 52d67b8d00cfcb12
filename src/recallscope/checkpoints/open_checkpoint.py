"""From a path to the tables of a model: a file, a folder of one, or a folder of many."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from recallscope.checkpoints.find_tables import Tables, find_tables
from recallscope.checkpoints.gguf_files import gguf_content
from recallscope.checkpoints.numpy_files import npy_table, npz_tables
from recallscope.checkpoints.safetensors_files import safetensors_tables, sharded_tables
from recallscope.checkpoints.stored_table import StoredTable
from recallscope.checkpoints.token_strings import token_strings
from recallscope.parts.given_files import opened
from recallscope.problem import ProblemError

_INDEX = ".safetensors.index.json"
_ENDINGS = (".safetensors", ".gguf", ".npy", ".npz", _INDEX)
_PICKLED = (".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle", ".joblib")
_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json")
_MOST_ENTRIES = 10_000  # of a folder
_CONVERT = (
    "is a pickled checkpoint, and reading one can run code; convert it where you trust it: "
    "from safetensors.torch import save_file; save_file({name: each.contiguous().clone() for name, "
    "each in torch.load(FILE, weights_only=True).items()}, 'model.safetensors')"
)


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A model's tables, and the texts of its tokens if they are known."""

    name: str
    tables: Tables
    tokens: list[str] | None


def open_checkpoint(
    path: Path, inputs: str | None = None, outputs: str | None = None, tokens: Path | None = None
) -> Checkpoint:
    """The tables of a file, or of a folder that holds one model."""
    weights = (path.is_dir() and _weights_of(path)) or path
    found, strings = _read(weights)
    tables = find_tables(found, repr(str(weights))[:200], inputs, outputs)
    rows = tables.inputs.rows
    nearby = [weights.with_name(name) for name in _TOKENIZERS]
    if tokens is not None:
        strings = token_strings(tokens, rows)
    elif strings is None:
        strings = next((_if_readable(each, rows) for each in nearby if each.is_file()), None)
    return Checkpoint(name=str(path), tables=tables, tokens=strings)


def checkpoints_in(path: Path) -> list[Path]:
    """The checkpoints that a path stands for: itself, or those of a folder by their numbers."""
    try:
        if not path.is_dir():
            return [path]
        entries = _entries(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ProblemError(f"{str(path)!r:.200} cannot be read: {why}") from None
    if _weights_of(path, must=False) is not None:
        return [path]
    several = [
        each
        for each in entries
        if (each.is_dir() and _weights_of(each, must=False) is not None)
        or (each.name.endswith(_ENDINGS) and each.is_file())
    ]
    if not several:
        _refuse_pickled(entries)
        raise ProblemError(
            f"the folder {str(path)!r:.200} has no checkpoint in it: {', '.join(_ENDINGS[:4])}"
        )
    return sorted(several, key=_by_number)


def _by_number(path: Path) -> tuple[float, str]:
    """Checkpoints along a training are named with their step, which is the last number."""
    numbers = re.findall(r"\d{1,15}", path.name.split(".safetensors")[0])
    return (float(numbers[-1]) if numbers else -1.0, path.name)


def _entries(folder: Path) -> list[Path]:
    entries = list(islice(folder.iterdir(), _MOST_ENTRIES + 1))
    if len(entries) > _MOST_ENTRIES:
        raise ProblemError(f"the folder {str(folder)!r:.200} has more than {_MOST_ENTRIES} files")
    return sorted(entries)


def _weights_of(folder: Path, must: bool = True) -> Path | None:
    """The weights of a folder that holds one model, as Hugging Face writes it."""
    entries = _entries(folder)
    names = {each.name: each for each in entries}
    if "model.safetensors" in names:
        return names["model.safetensors"]
    indices = [each for each in entries if each.name.endswith(_INDEX)]
    if len(indices) == 1:
        return indices[0]
    files = [each for each in entries if each.name.endswith(_ENDINGS[:4])]
    if "config.json" in names or (must and len(files) == 1):
        if len(files) == 1:
            return files[0]
        if not files:
            _refuse_pickled(entries)
    if must:
        raise ProblemError(f"the folder {str(folder)!r:.200} does not hold one model")
    return None


def _refuse_pickled(entries: list[Path]) -> None:
    for each in entries:
        if each.suffix.lower() in _PICKLED:
            raise ProblemError(f"{str(each)!r:.200} {_CONVERT}")


def _read(path: Path) -> tuple[dict[str, StoredTable], list[str] | None]:
    """The matrices of a file, and its tokens if any; its ending and first bytes say the format."""
    name = path.name.lower()
    if name.endswith(_INDEX):
        return sharded_tables(path), None
    with opened(path, f"{str(path)!r:.200}") as file:
        start = file.read(64)
    if name.endswith(_PICKLED) or _is_pickled(start, name):
        raise ProblemError(f"{str(path)!r:.200} {_CONVERT}")
    if start.startswith(b"GGUF"):
        content = gguf_content(path)
        return content.tables, content.tokens
    if start.startswith(b"\x93NUMPY"):
        table = npy_table(path)
        return {table.name: table}, None
    if name.endswith(".npz"):
        return npz_tables(path), None
    if name.endswith(".safetensors"):
        return safetensors_tables(path), None
    raise ProblemError(
        f"{str(path)!r:.200} is not a file that can be read; these are {', '.join(_ENDINGS[:4])}, "
        f"*{_INDEX}, or a folder with one of them"
    )


def _is_pickled(start: bytes, name: str) -> bool:
    """A pickle of protocol 2 or later, or the archive that torch.save writes."""
    protocol = len(start) > 1 and start[0] == 0x80 and 2 <= start[1] <= 5
    return (protocol and not name.endswith(".safetensors")) or (
        start.startswith(b"PK\x03\x04") and not name.endswith(".npz")
    )


def _if_readable(path: Path, rows: int) -> list[str] | None:
    """Tokens of a file next to a table; None if it cannot be read, then rows have numbers."""
    try:
        return token_strings(path, rows)
    except ProblemError:
        return None
