"""Names in recorded tables, as they are called today.

The tables of runs and of predictions stay as they were written, byte for byte: hashes of some give
seeds. Two accuracies have other names since: "lock" is the attention accuracy, and "one step" the
first-gradient accuracy. So has the sweep of the first, "locking". Whoever reads such a table gets
today's names from here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

_ATTENTION = re.compile(r"(?<![a-z])lock(ing)?(?![a-z])")
_FIRST_GRADIENT = re.compile(r"(?<![a-z])one([ _-])step(?![a-z])")


def todays_name(name: str) -> str:
    """Today's name of a column, an accuracy, a stage, a law or a sweep.

    >>> todays_name("measured_lock"), todays_name("one_step_accuracy")
    ('measured_attention', 'first_gradient_accuracy')
    >>> todays_name("one step, longer"), todays_name("recall_accuracy")
    ('first gradient, longer', 'recall_accuracy')
    """
    return _FIRST_GRADIENT.sub(r"first\1gradient", _ATTENTION.sub("attention", name))


def with_todays_names(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a table with today's names, of columns and where a name is a value.

    >>> with_todays_names([{"law": "lock", "one_step_error": 0.5}])
    [{'law': 'attention', 'first_gradient_error': 0.5}]
    """
    return [
        {
            todays_name(name): todays_name(value) if isinstance(value, str) else value
            for name, value in row.items()
        }
        for row in rows
    ]
