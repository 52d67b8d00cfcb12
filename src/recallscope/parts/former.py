"""What versions 0.1 and 0.2 left out of keys and records: values that were the default then.

Version 0.1 wrote out every field that it had. Version 0.2 left out what was the default of a part
at that time. The defaults of its parts are kept as data, since those of today may be others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from recallscope.parts.naming import MissingPartError, find_part
from recallscope.parts.registry import is_builtin

PARTS_OF_0_2: dict[str, Any] = {
    "task": "recall",
    "model": "transformer",
    "learner": "three-step",
    "metrics": (),
}
"""The fields that 0.2 left out of a key where they had these values."""


@cache
def _defaults() -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(
        Path(__file__).with_name("defaults-0.2.json").read_text(encoding="utf-8")
    )
    return found


def former_defaults(parts: Iterable[tuple[str, str]]) -> dict[str, Any] | None:
    """The defaults that 0.2 knew for the fields of these parts; None if it lacked one of them.

    A plugin's are those of today: when it changes one, it raises its version.

    >>> former_defaults([("learner", "converged")])
    {'attention': 'mark'}
    """
    found: dict[str, Any] = {}
    for kind, name in parts:
        if is_builtin(kind, name):
            if name not in _defaults()[kind]:
                return None
            found |= _defaults()[kind][name]
            continue
        try:
            fields = find_part(kind, name).fields
        except MissingPartError:
            continue  # what was chosen is in the record
        found |= {each: field.at_first for each, field in fields.items()}
    return found


def former_fields(
    declared: Mapping[str, Any],
    added: Mapping[str, Any],
    parts: Iterable[tuple[str, str]],
) -> dict[str, Any] | None:
    """The declared fields that were part of a key of 0.2; None if 0.2 could not have run it.

    `added` are the fields that came later, with the values that say what 0.2 did without them.
    """
    defaults = former_defaults(parts)
    if defaults is None:
        return None
    later = {name for name in added if name not in defaults}
    if any(declared[name] != added[name] for name in later if name in declared):
        return None
    return {
        name: value
        for name, value in declared.items()
        if name not in later and (name not in defaults or value != defaults[name])
    }
