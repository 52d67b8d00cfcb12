"""The interface of a metric: a number, or a list of numbers, measured on a trained model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recallscope.problem.part import Part

if TYPE_CHECKING:
    from recallscope.model.learner import LearnedModel
    from recallscope.model.setup import Setup


@dataclass(frozen=True)
class Metric(Part, ABC):
    """A metric: a number, or many, of what was learnt."""

    kind_of_part = "metric"

    @abstractmethod
    def measure(self, setup: Setup, logits: LearnedModel) -> Any:
        """A number, or a list, a tensor or an array of any shape.

        `record.array(name)` gives it back. A fraction of `test_samples` tests can be searched and
        drawn as an accuracy.

        Args:
            setup: the problem, the seed, and how many tests.
            logits: what was learnt; it is called with tokens and positions, and has the trained
                `module`.
        """


def measured(setup: Setup, logits: LearnedModel) -> dict[str, Any]:
    """The metrics of a problem, each under its name, which errors say too."""
    metrics = {}
    for name in setup.problem.metrics:
        called = name.partition(":")[0]
        try:
            metrics[called] = setup.problem.part("metric", name).measure(setup, logits)
        except Exception as error:
            raise RuntimeError(
                f"the metric {called} broke off: {type(error).__name__}: {error}"
            ) from error
    return metrics
