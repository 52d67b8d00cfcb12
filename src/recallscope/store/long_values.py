"""Long values in a store: each is kept once, in a file that is named by its content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

from recallscope.parts.long_values import MOST_BYTES, check_text, learn
from recallscope.store.files import Files, NotAFileError

_FILE = re.compile(r"json-[0-9a-f]{16}\.json")


def is_value_file(name: str) -> bool:
    """Whether a file of this name is taken for a long value."""
    return _FILE.fullmatch(name) is not None


def keep_values(files: Files, values: Mapping[str, str]) -> None:
    """Keep the JSON of some names, unless it is there already; folders of weights stay outside."""
    texts = {f"{name.replace(':', '-')}.json": text for name, text in values.items()}
    new = {name: text for name, text in texts.items() if is_value_file(name)}
    for name in new.keys() - set(files.names() if new else ()):
        files.write(name, new[name].encode())


def read_values(files: Files) -> dict[str, str]:
    """The long values of a store by name, known from now on; damaged ones are left out."""
    found = {}
    for file in filter(is_value_file, files.names()) if files.exists() else ():
        name = file.removesuffix(".json").replace("-", ":")
        with suppress(NotAFileError):
            text = files.read(file, MOST_BYTES).decode(errors="replace")
            if check_text(name, text):
                found[name] = text
    learn(found)
    return found
