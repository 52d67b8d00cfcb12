"""What every command may print: one JSON document, or the problem it is about."""

from __future__ import annotations

import json
import math
from typing import Any

from rich.console import Console

from recallscope.problem import Problem


def print_json(document: dict[str, Any] | list[dict[str, Any]]) -> None:
    """JSON has neither infinity nor NaN: what is no number is null."""
    try:
        print(json.dumps(document, indent=2, allow_nan=False))
    except ValueError:  # seldom, so that the document is gone through only then
        print(json.dumps(_finite(document), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_problem(problem: Problem, sought: str | None = None) -> None:
    """The fields of a problem, without a size that is sought and so has no value."""
    given = ", ".join(
        f"{name}={value}"
        for name, value in problem.to_dict().items()
        if value is not None and name != sought
    )
    Console().print(given, highlight=False, soft_wrap=True)
