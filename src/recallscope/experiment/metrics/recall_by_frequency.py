"""Recall by how often facts are seen: of the most frequent one, the next two, the next four, …"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recallscope.common.blocks import blocks
from recallscope.common.shapes import Float
from recallscope.experiment.metric import Metric
from recallscope.problem.facts import facts_of
from recallscope.problem.frequencies import frequencies_of, frequency_classes

if TYPE_CHECKING:
    from recallscope.model.learner import LearnedModel, Logits
    from recallscope.model.setup import Setup

_TESTS_AT_ONCE = 1024


def recall_of_classes(setup: Setup, logits: Logits) -> Float[np.ndarray, " classes"]:
    """The fraction of right answers in each class; every fact is asked for equally often."""
    import torch

    facts = facts_of(setup.problem)
    probability = frequencies_of(setup.problem, facts)
    classes = np.zeros(facts, np.int64) if probability is None else frequency_classes(probability)
    tests = facts * math.ceil(setup.test_samples / facts)
    right = np.zeros(facts)
    with torch.no_grad():
        for rows in blocks(tests, _TESTS_AT_ONCE):
            tokens, position, label = setup.samples(rows.start, rows.stop, "each")
            hit = (logits(tokens, position).argmax(dim=1) == label).cpu().numpy()
            np.add.at(right, np.arange(rows.start, rows.stop) % facts, hit)
    hits: Float[np.ndarray, " classes"] = np.bincount(classes, right) / np.bincount(classes)
    return hits / (tests // facts)


@dataclass(frozen=True)
class RecallByFrequency(Metric):
    """Recall of each class of frequency."""

    def measure(self, setup: Setup, logits: LearnedModel) -> Float[np.ndarray, " classes"]:
        """A number for each class, the most frequent first."""
        return recall_of_classes(setup, logits)


PART = RecallByFrequency()
