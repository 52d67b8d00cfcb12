"""The statements, in the order of the report: one file each, from the sentence to the verdict."""

from __future__ import annotations

from dataclasses import replace

from recallscope.common.errors import ProblemError, did_you_mean
from reproduction.evidence import Evidence, NotMeasuredError
from reproduction.statement import Finding, Statement
from reproduction.statements import (
    directions,
    finite_data,
    first_steps,
    lower_bound,
    mlp_regimes,
    news,
    orthogonal,
    orthogonal_capacity,
    oscillations,
    products,
    tight,
    trade_off,
    two_by_two,
)

_FILES = (
    finite_data,
    products,
    directions,
    mlp_regimes,
    orthogonal_capacity,
    trade_off,
    two_by_two,
    orthogonal,
    first_steps,
    oscillations,
    lower_bound,
    tight,
    news,
)
STATEMENTS: dict[str, Statement] = {file.STATEMENT.name: file.STATEMENT for file in _FILES}
_ANALYSES = {file.STATEMENT.name: file.analyse for file in _FILES}


def statements_named(name: str) -> list[Statement]:
    """The statement of that name, or every statement for "all".

    >>> [statement.title for statement in statements_named("products")]
    ['Capacity comes in products of N, d and L']
    """
    if name == "all":
        return list(STATEMENTS.values())
    if name not in STATEMENTS:
        raise ProblemError(
            f"there is no statement {name!r}; there are {', '.join(STATEMENTS)}, or all"
            f"{did_you_mean(name, STATEMENTS)}"
        )
    return [STATEMENTS[name]]


def finding(statement: Statement, evidence: Evidence) -> Finding | None:
    """What the runs say of a statement, or None if a sweep of it has not been run."""
    try:
        outcome: Finding = _ANALYSES[statement.name](evidence)
    except NotMeasuredError:
        return None
    return replace(outcome, lost=evidence.lost(statement.sweeps))
