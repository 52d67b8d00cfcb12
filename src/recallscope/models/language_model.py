"""The fields that models of language have in common."""

from __future__ import annotations

from recallscope.parts.field import fields_in
from recallscope.problem import Problem, ProblemError

FIELDS = fields_in("language_model")


def check(problem: Problem) -> None:
    """Raise if a low-rank update cannot be as the problem says."""
    if problem["target_modules"] and not problem["rank"]:
        raise ProblemError("target_modules are for a low-rank update; give a rank too")
