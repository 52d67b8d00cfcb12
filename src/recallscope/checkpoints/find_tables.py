"""Which of a model's tensors are its embeddings: by the names that libraries give, and shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from recallscope.checkpoints.stored_table import StoredTable
from recallscope.parts.data_files import data_next_to
from recallscope.parts.errors import did_you_mean
from recallscope.problem import ProblemError

_NAMES = data_next_to(__file__, "table_names.toml")
_FEWEST = 64  # rows of what is taken for a table because nothing else can be one
_COMPARED = 2000  # names, to find the one that was meant


class Tables(NamedTuple):
    """The table that tokens are read from, and the one that answers are compared with if another.

    `how` says how they were found.
    """

    inputs: StoredTable
    outputs: StoredTable | None
    how: str


def find_tables(
    tables: Mapping[str, StoredTable],
    called: str,
    inputs: str | None = None,
    outputs: str | None = None,
) -> Tables:
    """The embeddings among the matrices of a file, by name if one is given."""
    if not tables:
        raise ProblemError(f"{called} has no matrix of floating-point numbers")
    first = _named(tables, inputs, called) if inputs else _by_pattern(tables, _NAMES["inputs"])
    how = "named by you" if inputs else "found by its name"
    if first is None and len(tables) == 1:
        (first,), how = tables.values(), "the only table there is"
    if first is None:
        tall = sorted(tables.values(), key=lambda each: each.rows / each.dim, reverse=True)
        if tall[0].rows < max(_FEWEST, 4 * tall[0].dim):
            raise ProblemError(
                f"none of the {len(tables)} matrices of {called} looks like an embedding matrix; "
                f"name one with --inputs: {_listed(tables)}"
            )
        first, how = tall[0], "the one with most rows for its columns: name another if it is not"
    last = _named(tables, outputs, called) if outputs else _by_pattern(tables, _NAMES["outputs"])
    if last is not None and last.name == first.name:
        last = None
    if last is not None and (last.rows, last.dim) != (first.rows, first.dim):
        if outputs:
            raise ProblemError(
                f"the outputs {last.name!r:.80} are {last.rows}×{last.dim} and the inputs "
                f"{first.name!r:.80} {first.rows}×{first.dim}; they must be of one shape"
            )
        last = None
    return Tables(first, last, how)


def _by_pattern(tables: Mapping[str, StoredTable], patterns: Sequence[str]) -> StoredTable | None:
    for pattern in patterns:
        found = [
            name
            for name in tables
            if len(name) < 500 and re.search(rf"(?:^|[./]){pattern}$", name, re.IGNORECASE)
        ]
        # With an encoder and a decoder, or positions and words: the one with most rows.
        if found:
            return max((tables[name] for name in found), key=lambda each: each.rows)
    return None


def _named(tables: Mapping[str, StoredTable], name: str, called: str) -> StoredTable:
    if name in tables:
        return tables[name]
    meant = did_you_mean(name, list(tables)[:_COMPARED])
    raise ProblemError(
        f"{called} has no matrix {name!r:.80}{meant or ';'} it has {_listed(tables)}"
    )


def _listed(tables: Mapping[str, StoredTable]) -> str:
    shown = [f"{name:.60} {each.rows}×{each.dim}" for name, each in list(tables.items())[:8]]
    return ", ".join(shown) + (f" and {len(tables) - 8} more" if len(tables) > 8 else "")
