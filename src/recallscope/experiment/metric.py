"""The interface of a metric: a number, or a list of numbers, measured on a trained model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from recallscope.parts.field import Field
from recallscope.parts.naming import find_part
from recallscope.problem import Problem, no_check

if TYPE_CHECKING:
    from recallscope.learning.learner import LearnedModel, Setup


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric.

    Attributes:
        measure: from the setup and what was learnt to a number, or to a list, a tensor or an array
            of any shape; `record.array(name)` gives it back. What was learnt is called with tokens
            and positions, and has the trained `module`. A fraction of `test_samples` tests can be
            searched and drawn as an accuracy.
        fields: what it adds to problems.
        check: raises `ProblemError` for a problem that it cannot serve.
        name: needed only if it is passed as an object.
        version: raised when the same problem and seed give another record; part of record keys. Of
            an object it replaces the hash of its source.
    """

    measure: Callable[[Setup, Any], Any]
    fields: Mapping[str, Field] = field(default_factory=dict)
    check: Callable[[Problem], None] = no_check
    name: str = ""
    version: int | None = None


def measured(setup: Setup, logits: LearnedModel) -> dict[str, Any]:
    """The metrics of a problem, each under its name, which errors say too."""
    found = {}
    for name in setup.problem.metrics:
        called = name.partition(":")[0]
        try:
            found[called] = find_part("metric", name).measure(setup, logits)
        except Exception as error:
            raise RuntimeError(
                f"the metric {called} broke off: {type(error).__name__}: {error}"
            ) from error
    return found
