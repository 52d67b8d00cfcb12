"""The frequency at which recall is one half: facts that are seen less often are mostly lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recallscope.common.shapes import Float
from recallscope.experiment.metric import Metric
from recallscope.experiment.metrics.recall_by_frequency import recall_of_classes
from recallscope.problem.facts import facts_of
from recallscope.problem.frequencies import frequencies_of, frequency_classes

if TYPE_CHECKING:
    from recallscope.model.learner import LearnedModel
    from recallscope.model.setup import Setup


def half_at(recall: Float[np.ndarray, " n"], frequency: Float[np.ndarray, " n"]) -> float:
    """Where recall first falls below one half, between the logarithms of two frequencies.

    0 if it never does, 1 if it is below one half throughout.

    >>> round(half_at(np.array([1.0, 0.75, 0.25]), np.array([0.4, 0.2, 0.05])), 3)
    0.1
    """
    if not (recall < 0.5).any():
        return 0.0
    rare = int(np.argmax(recall < 0.5))
    if rare == 0:
        return 1.0
    above = (recall[rare - 1] - 0.5) / (recall[rare - 1] - recall[rare])
    return float(frequency[rare - 1] ** (1 - above) * frequency[rare] ** above)


@dataclass(frozen=True)
class HalfRecallFrequency(Metric):
    """Where recall falls below one half."""

    def measure(self, setup: Setup, logits: LearnedModel) -> float:
        """A frequency, 0 if recall never falls so low."""
        facts = facts_of(setup.problem)
        probability = frequencies_of(setup.problem, facts)
        if probability is None:
            return half_at(recall_of_classes(setup, logits), np.array([1 / facts]))
        classes = frequency_classes(probability)
        mean = np.bincount(classes, np.log(probability)) / np.bincount(classes)
        return half_at(recall_of_classes(setup, logits), np.exp(mean))


PART = HalfRecallFrequency()
