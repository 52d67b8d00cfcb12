"""What records name by a hash of its content: long values, and embeddings of the user's.

Each is kept once, in a small table of names and contents next to the records, before a record names
it. A name says what the content must be, so a changed one is not taken.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping

import pyarrow as pa

from recallscope.problem.given_embeddings import Embeddings
from recallscope.problem.long_values import check_text, learn
from recallscope.problem.naming import ARRAYS
from recallscope.sweeps.store.delta import DeltaRows, StoreError

_SCHEMA = pa.schema({"name": pa.string(), "content": pa.large_binary()})
_MOST_BYTES = 2**29
"""Of arrays; larger ones stay where they are."""


class NamedValues:
    """Contents by their names.

    Args:
        place: of the records.
    """

    def __init__(self, place: str) -> None:
        # The library leaves folders alone whose names begin so when it removes old files.
        self._rows = DeltaRows(f"{place}/_values", "values that records name")

    def keep(self, values: Mapping[str, str]) -> None:
        """Keep the JSON of some names, unless it is there already; weights stay outside."""
        texts = {name: text for name, text in values.items() if name.startswith("json:")}
        self._append({name: text.encode() for name, text in texts.items()})

    def keep_arrays(self, arrays: Embeddings) -> None:
        """Keep arrays, unless they are there already or too large."""
        if arrays.nbytes <= _MOST_BYTES and arrays.name not in self._names():
            content = io.BytesIO()
            arrays.save(content)
            self._append({arrays.name: content.getvalue()})

    def learn(self) -> dict[str, str]:
        """The JSON of all names, known from now on; what does not fit its name is left out."""
        found = {
            name: content.decode(errors="replace")
            for name, content in self._contents().items()
            if name.startswith("json:")
        }
        found = {name: text for name, text in found.items() if check_text(name, text)}
        learn(found)
        return found

    def arrays(self, name: str) -> Embeddings:
        """The arrays of this name, or `StoreError` if they are not there."""
        if not ARRAYS.fullmatch(name):
            raise StoreError(f"arrays are named as in arrays:0123456789abcdef, not {name!r:.60}")
        content = self._contents(name).get(name)
        if content is None:
            raise StoreError(f"the store {self._rows.place!r} has no {name!r:.60}")
        found = Embeddings.from_bytes(content, f"{self._rows.place}: {name}")
        if found.name != name:
            raise StoreError(f"the store {self._rows.place!r} has other numbers as {name!r:.60}")
        return found

    def copy_to(self, other: NamedValues) -> None:
        """Keep all of these there too."""
        other.keep(self.learn())
        for name in self._names():
            if ARRAYS.fullmatch(name):
                other.keep_arrays(self.arrays(name))

    def _names(self) -> set[str]:
        return {name for rows in self._read(["name"]) for name in rows["name"].to_pylist()}

    def _contents(self, wanted: str | None = None) -> dict[str, bytes]:
        """Contents by name: all of texts, or that of one name."""
        found = {}
        for rows in self._read(["name", "content"]):
            for name, content in zip(rows["name"], rows["content"], strict=True):
                if name.as_py() == wanted or (wanted is None and name.as_py()[:5] == "json:"):
                    found[name.as_py()] = content.as_py()
        return found

    def _read(self, columns: list[str]) -> Iterator[pa.Table]:
        if self._rows.exists():
            for path in self._rows.paths():
                yield self._rows.read(path, columns, lambda names: _SCHEMA)

    def _append(self, contents: Mapping[str, bytes]) -> None:
        known = self._names() if contents else set()
        new = {name: content for name, content in contents.items() if name not in known}
        if new:
            self._rows.make(_SCHEMA)
            self._rows.append(pa.table([[*new], [*new.values()]], schema=_SCHEMA))
