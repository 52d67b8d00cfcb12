"""What every command may print: one JSON document, or the problem it is about."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console

from recallscope.problem import Problem


def print_json(document: dict[str, Any] | list[dict[str, Any]]) -> None:
    print(json.dumps(document, indent=2, allow_nan=False))


def print_problem(problem: Problem, sought: str | None = None) -> None:
    """The fields of a problem, without a size that is sought and so has no value."""
    given = ", ".join(
        f"{name}={value}"
        for name, value in problem.to_dict().items()
        if value is not None and name != sought
    )
    Console().print(given, highlight=False, soft_wrap=True)
