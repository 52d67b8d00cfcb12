"""Values too long for a problem, which names them by a hash of their content.

A configuration or a table is JSON; weights of a model are a folder. Where a file lies is no part of
a problem: the same content has the same name everywhere. Values are known to the process that was
given them, travel with problems to other processes, and JSON is stored next to records.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from recallscope.common.errors import ProblemError
from recallscope.common.given_files import open_regular, read_regular
from recallscope.problem.key import digest

NAMED = re.compile(r"(json|folder):[0-9a-f]{16}")
MOST_BYTES = 4 * 2**20
_WEIGHTS = ("*.safetensors", "*config.json")
_known: dict[str, str] = {}  # canonical JSON, or the path of a folder, by name


def named(kind: str, field: str, source: object) -> str:
    """The name of a value that a user gives, which is known from now on.

    Args:
        kind: json, for a JSON value, its text or a file of it, an array, or a CSV file, whose last
            column is a list of numbers; folder, for a folder of weights.
        field: what the value is for.
        source: the value, or its name.

    >>> named("json", "config", {"layers": 2}) == named("json", "config", '{"layers": 2}')
    True
    """
    if isinstance(source, str) and (source == "" or NAMED.fullmatch(source)):
        return str(source)
    name, value = (_json if kind == "json" else _folder)(field, source)
    _known[name] = value
    return name


def json_of(name: str) -> Any:
    """The JSON value of this name."""
    return json.loads(text_of(name))


def text_of(name: str) -> str:
    """Return the value behind a name: the text of JSON, or the path of a folder."""
    if name not in _known:
        raise ProblemError(
            f"the content of {name!r:.60} is not known here; give the file or the folder that it "
            "came from, or read the store that has it"
        )
    return _known[name]


def is_known(name: str) -> bool:
    """Whether the content of a value is known to this process."""
    return name in _known


def known_among(values: Iterable[object]) -> dict[str, str]:
    """Those of some values that are names of long ones, with their contents.

    >>> known_among(["relu", 5])
    {}
    """
    return {value: _known[value] for value in values if isinstance(value, str) and value in _known}


def learn(values: Mapping[str, str]) -> None:
    """Register values that another process, or a store, has by name."""
    _known.update(values)


def check_text(name: str, text: str) -> bool:
    """Whether a text is the JSON that a name stands for."""
    return _name_of(text) == name


def _name_of(text: str) -> str:
    return f"json:{digest(text)[:16]}"


def _json(field: str, source: object) -> tuple[str, str]:
    text: str | bytes | None = None
    if isinstance(source, (str, Path)) and str(source).endswith(".csv"):
        source = _last_column(read_regular(source, f"file for {field}", MOST_BYTES))
    elif isinstance(source, Path) or (isinstance(source, str) and source.lstrip()[:1] not in "{["):
        text = read_regular(source, f"file for {field}", MOST_BYTES)
    elif isinstance(source, str):
        text = source
    try:
        value = (
            json.loads(text) if text is not None else getattr(source, "tolist", lambda: source)()
        )
        if not isinstance(value, (dict, list)):
            raise ValueError("it is neither an object nor a list")
        packed = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        why = str(error)[:100] or "it is nested too deep"
        raise ProblemError(
            f"{field} must be JSON, its text or a file of it, or a CSV file of numbers, "
            f"not {str(source)!r:.60}: {why}"
        ) from None
    if len(packed) > MOST_BYTES:
        raise ProblemError(f"{field} is larger than {MOST_BYTES / 2**20:g} MiB")
    return _name_of(packed), packed


def _last_column(text: str | bytes) -> list[float]:
    """The numbers at the ends of lines, but for a heading."""
    lines = (text if isinstance(text, str) else text.decode(errors="replace")).splitlines()
    cells = [line.rpartition(",")[2].strip() for line in lines if line.strip()]
    try:
        return [float(cell) for cell in cells[not _is_number(cells[0]) :]] if cells else []
    except ValueError as error:
        raise ProblemError(
            f"the last column of a CSV file must have numbers: {error!s:.80}"
        ) from None


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?", text) is not None


def _folder(field: str, path: object) -> tuple[str, str]:
    folder = Path(str(path)).absolute()
    files = sorted({file for pattern in _WEIGHTS for file in folder.glob(pattern)})
    if not any(file.suffix == ".safetensors" for file in files):
        raise ProblemError(
            f"{field} must be a folder with weights as .safetensors, not {str(path)!r:.200}"
        )
    try:
        seen = tuple((file, file.stat().st_size, file.stat().st_mtime_ns) for file in files)
        return f"folder:{_hash_of_files(seen)}", str(folder)
    except OSError as error:
        raise ProblemError(
            f"{field} must be a folder with weights that can be read, not {str(path)!r:.200}: "
            f"{error.strerror}"
        ) from None


@lru_cache(maxsize=64)
def _hash_of_files(files: tuple[tuple[Path, int, int], ...]) -> str:
    hasher = hashlib.sha256()
    for path, size, _ in files:
        hasher.update(f"{path.name} {size} ".encode())
        with open_regular(path) as file:
            while block := file.read(2**20):
                hasher.update(block)
    return hasher.hexdigest()[:16]
