"""Problems as rows of tables, which have other columns too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recallscope.common.errors import ProblemError
from recallscope.problem.naming import declared_by, named_parts
from recallscope.problem.problem import FIELDS, Problem

EMPTY: Mapping[str, Any] = {}


def row_of(problem: Problem, columns: Mapping[str, Any] = EMPTY) -> dict[str, Any]:
    """The fields of a problem as numbers and texts, and the other columns of its row.

    An infinite number of samples is a number. A field of a part that is called as another column is
    an error: one of the two would be lost.

    >>> problem = Problem(vocab=64, samples=512, dim=16, length=4, metrics="recall-at-k")
    >>> row_of(problem)["metrics"]
    'recall-at-k'
    >>> row_of(problem, {"k": 7.5})
    Traceback (most recent call last):
    recallscope.ProblemError: a part has a field k, which is a column of this table too; ...
    """
    for name, _ in problem.declared:
        if name in columns:
            raise ProblemError(
                f"a part has a field {name}, which is a column of this table too; give the field "
                "another name"
            )
    fields = problem.to_dict() | {"samples": problem.samples}
    metrics = fields.pop("metrics")
    return fields | ({"metrics": " ".join(metrics)} if metrics else {}) | dict(columns)


def problem_of(row: Mapping[str, Any]) -> Problem:
    """The problem of a row; a column without a value is left to its default.

    >>> problem_of({"vocab": 64, "samples": 512, "dim": 16, "length": 4, "recall": 0.5}).dim
    16
    """
    fields = {name: row[name] for name in FIELDS if row.get(name) is not None}
    if isinstance(fields.get("metrics"), str):
        fields["metrics"] = fields["metrics"].split()
    declared = declared_by(named_parts(fields))
    fields |= {name: row[name] for name in declared if row.get(name) is not None}
    return Problem.from_dict(fields)
