"""The law of the end: recall of a model that is trained until it learns no more.

Recall = trigger found × attention × facts seen × memory. The memory is derived (`memory_recall`).
Whether a training finds the trigger is partly derived, partly fitted (`finding`). The tests are in
docs/end-of-training.md.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from recallscope.common.shapes import Float
from recallscope.problem.frequencies import frequencies_of
from recallscope.problem.naming import PART_DEFAULTS
from recallscope.problem.problem import Problem
from recallscope.theory.attention_scores import attention_scores
from recallscope.theory.end_capacity import Edge, edge
from recallscope.theory.finding import MARKED, TURNS, attention
from recallscope.theory.memory_recall import Facts, equally_often, facts_seen, memory_recall
from recallscope.theory.problem_arrays import arrays_of
from recallscope.theory.readout import means
from recallscope.theory.unequal_facts import Kept, kept_facts

EDGE_WIDTH_FACTOR = 2.5
"""Fitted: how much wider the capacity threshold is after 1,000 steps, as attention learns too."""

USED_OF_MLP = {"gd": 0.6, "adam": 0.8, "muon": 0.93}
"""Fitted: the fraction of the parameters behind an MLP that 1,500 steps make use of."""


class End(NamedTuple):
    """The factors of recall at the end, and the threshold of a memory of the facts found.

    `trigger_found` is the probability that a training finds the trigger, all else is if it does.
    `trigger_snr` is that of the first steps; None where attention is given.
    """

    trigger_found: float
    attention: float
    facts_seen: float
    memory: float
    parameters: int
    edge: Edge
    trigger_snr: float | None
    kept: Kept | None = None  # where facts are seen unequally often

    @property
    def recall_if_found(self) -> float:
        """Of a training that finds the trigger."""
        return self.attention * self.facts_seen * self.memory

    @property
    def recall(self) -> float:
        """On average over trainings."""
        return self.trigger_found * self.recall_if_found


def trigger_snr(problem: Problem) -> float:
    """How clearly the first steps point to the trigger: its score, in its deviations.

    >>> round(trigger_snr(Problem(vocab=128, samples=256, dim=40, length=32)), 1)
    3.4
    """
    s = arrays_of(problem.replace(learner=PART_DEFAULTS["learner"]))
    scores = attention_scores(s, means(s))
    # Behind an MLP the first steps may point away from the trigger: then it is below zero.
    return float(scores.signal[0] / np.sqrt(scores.trigger_variance[0]))


@lru_cache(maxsize=64)
def end_of_training(problem: Problem) -> End:
    """The law for one problem.

    >>> end = end_of_training(Problem(vocab=256, samples=1024, dim=48, length=16, learner="gd"))
    >>> round(end.facts_seen, 2), round(end.recall, 2)
    (0.98, 0.98)
    """
    if (probability := frequencies_of(problem, problem.vocab)) is not None:
        return _unequal_end(problem, probability)
    facts = _facts(problem)
    seen = float(facts.number.sum())
    # More keys than facts, or outputs than labels but one, are of no use.
    inputs = min(problem.hidden, math.ceil(seen))
    outputs = min(problem.dim, problem.vocab - 1)
    parameters, load = inputs * outputs, 1.0
    attended, blur, snr = MARKED, 1.0, None
    if problem.learner in TURNS and problem.length > 1:
        if problem.width is not None:
            parameters = round(USED_OF_MLP[problem.learner] * parameters)
        snr, per_fact = trigger_snr(problem), problem.samples / problem.vocab
        filled = parameters / edge(problem.vocab, seen, outputs).parameters
        attended, blur = attention(problem.learner, snr, per_fact, filled), EDGE_WIDTH_FACTOR
        # A sample that attention gets wrong takes space too, if its fact is seldom seen (fitted).
        load = attended.accuracy + (1 - attended.accuracy) * math.exp(-2 * per_fact)
    stored = Facts(load * facts.number, facts.times)
    return End(
        trigger_found=attended.trigger_found,
        attention=attended.accuracy,
        facts_seen=seen / problem.vocab,
        memory=memory_recall(problem.vocab, parameters, stored, outputs, blur),
        parameters=parameters,
        edge=edge(problem.vocab, load * seen, outputs),
        trigger_snr=snr,
    )


def _unequal_end(problem: Problem, probability: Float[np.ndarray, " facts"]) -> End:
    """The same for facts of unequal frequency, with attention that is given."""
    outputs = min(problem.dim, problem.vocab - 1)
    facts = -np.expm1(-problem.samples * probability).sum()
    kept = kept_facts(probability, problem.samples, problem.vocab, problem.hidden, outputs)
    return End(
        trigger_found=MARKED.trigger_found,
        attention=MARKED.accuracy,
        facts_seen=kept.seen if kept else math.nan,
        memory=kept.recall / kept.seen if kept else math.nan,
        parameters=min(problem.hidden, math.ceil(facts)) * outputs,
        edge=edge(problem.vocab, float(facts), outputs),
        trigger_snr=None,
        kept=kept,
    )


def _facts(problem: Problem) -> Facts:
    if problem.part("task").in_turn:
        return equally_often(min(problem.samples, problem.vocab))
    return facts_seen(problem.vocab, problem.samples)
