"""The fraction of facts that are recalled, each asked for once, rare or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recallscope.experiment.metric import Metric
from recallscope.model.learner import mean_of_tests
from recallscope.problem.facts import facts_of

if TYPE_CHECKING:
    from recallscope.model.learner import LearnedModel
    from recallscope.model.setup import Setup


@dataclass(frozen=True)
class RecallPerFact(Metric):
    """Every fact is asked for once."""

    def measure(self, setup: Setup, logits: LearnedModel) -> float:
        """The fraction of facts."""
        return mean_of_tests(
            setup,
            lambda tokens, position, label: logits(tokens, position).argmax(dim=1) == label,
            count=facts_of(setup.problem),
            split="each",
        )


PART = RecallPerFact()
