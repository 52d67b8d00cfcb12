"""Tables and sentences that lie as TOML next to a module."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def data_next_to(module: str, name: str) -> dict[str, Any]:
    """What a file next to a module says, given the `__file__` of the module; read once."""
    return tomllib.loads(Path(module).with_name(name).read_text(encoding="utf-8"))


def sentences_next_to(module: str, name: str) -> dict[str, str]:
    """The texts of such a file, each in one line."""
    return {each: " ".join(text.split()) for each, text in data_next_to(module, name).items()}
