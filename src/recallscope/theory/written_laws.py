"""What laws.toml says of our laws: which of them goes first, and where each was tested."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from recallscope.problem import Problem
from recallscope.theory.law import Answer, LawKind


@cache
def _written() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("laws.toml").read_text(encoding="utf-8"))


def written_law(name: str) -> dict[str, Any]:
    """What is written of a law, as the arguments of `Law`.

    >>> written_law("converged")["tested"]["dim"]
    (5, 214)
    """
    given = dict(_written()[name])
    given["kind"] = LawKind(given["kind"])
    if text := " ".join(given.get("explain", "").split()):

        def explain(problem: Problem, answer: Answer) -> str:
            return text.format(problem=problem, **answer.quantities)

        given["explain"] = explain
    return given | {"tested": {size: tuple(ends) for size, ends in given["tested"].items()}}
