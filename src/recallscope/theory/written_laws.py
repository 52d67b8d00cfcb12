"""What laws.toml says of our laws: which of them goes first, and where each was tested."""

from __future__ import annotations

from typing import Any

from recallscope.parts.data_files import data_next_to
from recallscope.problem import Problem
from recallscope.theory.law import Answer, LawKind


def written_law(name: str) -> dict[str, Any]:
    """What is written of a law, as the arguments of `Law`.

    >>> written_law("converged")["tested"]["dim"]
    (5, 214)
    """
    given = dict(data_next_to(__file__, "laws.toml")[name])
    given["kind"] = LawKind(given["kind"])
    if text := " ".join(given.get("explain", "").split()):

        def explain(problem: Problem, answer: Answer) -> str:
            return text.format(problem=problem, **answer.quantities)

        given["explain"] = explain
    return given | {"tested": {size: tuple(ends) for size, ends in given["tested"].items()}}
