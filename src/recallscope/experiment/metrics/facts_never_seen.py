"""The fraction of facts that no training sample shows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recallscope.common.blocks import blocks
from recallscope.experiment.metric import Metric
from recallscope.problem.facts import facts_of

if TYPE_CHECKING:
    from recallscope.model.learner import LearnedModel
    from recallscope.model.setup import Setup

_SAMPLES_AT_ONCE = 2**14


@dataclass(frozen=True)
class FactsNeverSeen(Metric):
    """Facts that the training does not ask for."""

    def measure(self, setup: Setup, logits: LearnedModel) -> float:
        """The fraction of facts."""
        if math.isinf(setup.problem.samples):
            return 0.0
        seen = np.zeros(facts_of(setup.problem), dtype=bool)
        for rows in blocks(int(setup.problem.samples), _SAMPLES_AT_ONCE):
            seen[setup.examples(rows.start, rows.stop).fact] = True
        return float(1 - seen.mean())


PART = FactsNeverSeen()
