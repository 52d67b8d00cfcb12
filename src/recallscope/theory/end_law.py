"""The law of the end: recall of a model that is trained until it learns no more.

Recall = attention × facts seen × memory. The memory is derived (`memory_recall`). How often
attention finds the trigger is fitted, as a function of how clearly the first steps point to it.
Both, and their tests, are in docs/end-of-training.md.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit  # type: ignore[import-untyped]

from recallscope.common.frequencies import frequencies_of
from recallscope.common.shapes import Float
from recallscope.parts.naming import PART_DEFAULTS, find_part
from recallscope.problem import Problem
from recallscope.theory.locking import locking
from recallscope.theory.memory_edge import Edge, edge
from recallscope.theory.memory_recall import Facts, equally_often, facts_seen, memory_recall
from recallscope.theory.problem_arrays import arrays_of
from recallscope.theory.readout import means
from recallscope.theory.unequal_facts import Kept, kept_facts

FOUND = {"gd": (3.7, 0.75, 0.45), "adam": (2.2, 0.95, 1.5), "muon": (2.2, 0.95, 1.5)}
"""Fitted (studies/end_law.py): how often attention finds the trigger, as a logistic function.
Coefficients: a constant, and those of the logarithms of the trigger's signal-to-noise ratio and of
the samples for each fact."""

EDGE_WIDTH_FACTOR = 2.5
"""Fitted: how much wider the capacity threshold is after 1,000 steps, as attention learns too."""


CLEAR = 8.0
"""Signal-to-noise ratio of the first steps from which on trainings of any size find the trigger."""

_LOCK_IF_CLEAR = 0.95  # at least
_NONE = 1e-12


class End(NamedTuple):
    """What recall at the end is the product of, and where a memory of the facts found is full.

    `trigger_snr` is that of the first steps; None where attention is given. `ceiling` is the recall
    of a training that finds the trigger every time, where it is unclear.
    """

    lock: float
    facts_seen: float
    memory: float
    parameters: int
    edge: Edge
    trigger_snr: float | None
    ceiling: float | None
    kept: Kept | None = None  # where facts are seen unequally often

    @property
    def recall(self) -> float:
        """The three together."""
        return self.lock * self.facts_seen * self.memory


def trigger_snr(problem: Problem) -> float:
    """How clearly the first steps point to the trigger: its score, in its deviations.

    >>> round(trigger_snr(Problem(vocab=128, samples=256, dim=40, length=32)), 1)
    3.4
    """
    s = arrays_of(problem.replace(learner=PART_DEFAULTS["learner"]))
    scores = locking(s, means(s))
    # Behind an MLP the first steps may point away from the trigger.
    return max(float(scores.signal[0] / np.sqrt(scores.trigger_variance[0])), _NONE)


@lru_cache(maxsize=64)
def end_of_training(problem: Problem, measured: bool = True) -> End:
    """The law for one problem; beyond what was `measured`, a clear trigger is found.

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
    parameters = inputs * outputs
    lock, blur, snr = 1.0, 1.0, None
    if problem.learner in FOUND and problem.length > 1:
        constant, of_snr, of_samples = FOUND[problem.learner]
        snr = trigger_snr(problem)
        odds = of_snr * math.log(snr) + of_samples * math.log(problem.samples / problem.vocab)
        lock, blur = float(expit(constant + odds)), EDGE_WIDTH_FACTOR
        if not measured and snr > CLEAR:
            lock = max(lock, _LOCK_IF_CLEAR)

    def memory(found: float) -> float:
        # A fact that attention does not find takes no space.
        some = Facts(found * facts.number, facts.times)
        return memory_recall(problem.vocab, parameters, some, outputs, blur)

    seen_share, held = seen / problem.vocab, memory(lock)
    ceiling = None
    if snr is not None and snr <= CLEAR:
        # Below capacity, facts that attention does not find let others fit.
        ceiling = min(seen_share * max(lock * held, memory(1.0)), 1.0)
    return End(
        lock=lock,
        facts_seen=seen_share,
        memory=held,
        parameters=parameters,
        edge=edge(problem.vocab, lock * seen, outputs),
        trigger_snr=snr,
        ceiling=ceiling,
    )


def _unequal_end(problem: Problem, probability: Float[np.ndarray, " facts"]) -> End:
    """The same for facts of unequal frequency, with attention that is given."""
    outputs = min(problem.dim, problem.vocab - 1)
    facts = -np.expm1(-problem.samples * probability).sum()
    kept = kept_facts(probability, problem.samples, problem.vocab, problem.hidden, outputs)
    return End(
        lock=1.0,
        facts_seen=kept.seen if kept else math.nan,
        memory=kept.recall / kept.seen if kept else math.nan,
        parameters=min(problem.hidden, math.ceil(facts)) * outputs,
        edge=edge(problem.vocab, float(facts), outputs),
        trigger_snr=None,
        ceiling=None,
        kept=kept,
    )


def _facts(problem: Problem) -> Facts:
    if find_part("task", problem.task).in_turn:
        return equally_often(min(problem.samples, problem.vocab))
    return facts_seen(problem.vocab, problem.samples)
