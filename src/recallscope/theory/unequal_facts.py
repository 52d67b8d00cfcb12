"""Facts of unequal frequency at the end of training: which of them a memory keeps.

A fact of probability p is seen a Poisson number of times in N samples, of mean N p. The minimum of
the loss depends on how many facts were seen how often; the recall of each fact on its own number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from recallscope.common.shapes import Float
from recallscope.theory.few_samples import poisson
from recallscope.theory.memory_recall import Facts, trained_memory

_OFTEN = 100  # times seen, from which on the number is as good as its mean
_FINE, _COARSE = 200, 12  # classes: of frequencies, and of numbers of times in the equations


_COUNTS = np.arange(1.0, 2 * _OFTEN)


class Kept(NamedTuple):
    """Recall of facts of unequal frequency.

    `seen` and `recall` are fractions of samples, `per_fact` of facts. Facts of a frequency below
    `half_frequency` have a recall below one half; `kept` is how many have more.
    """

    seen: float
    recall: float
    per_fact: float
    half_frequency: float
    kept: int
    frequencies: Float[np.ndarray, " classes"]
    recalls: Float[np.ndarray, " classes"]

    def recall_at(self, probability: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The recall of facts of given frequencies."""
        return np.interp(np.log(probability), np.log(self.frequencies), self.recalls)


def grouped(number: Float[np.ndarray, " n"], times: Float[np.ndarray, " n"], most: int) -> Facts:
    """Classes of facts that were seen about as often, of equal width in the logarithm.

    >>> grouped(np.ones(4), np.array([1.0, 1.1, 9.0, 10.0]), 2).number.tolist()
    [2.0, 2.0]
    """
    place = np.log(times) - math.log(times.min())
    place = np.minimum((place / max(place.max(), 1e-9) * most).astype(int), most - 1)
    total, weighted = np.bincount(place, number), np.bincount(place, number * times)
    return Facts(total[total > 0], weighted[total > 0] / total[total > 0])


def facts_drawn(frequencies: Facts, samples: float) -> Facts:
    """How many facts were seen how often, in so many samples; `times` of the first are p."""
    if math.isinf(samples):
        return grouped(frequencies.number, frequencies.times * frequencies.number.sum(), _COARSE)
    mean = samples * frequencies.times
    few = mean < _OFTEN
    number = frequencies.number[few] @ _chances(mean[few])
    number, times = np.append(number, frequencies.number[~few]), np.append(_COUNTS, mean[~few])
    return grouped(number[number > 1e-9], times[number > 1e-9], _COARSE)


def _chances(mean: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n counts"]:
    """Of being seen 1, 2, 3, … times."""
    return poisson(np.append(0, _COUNTS), mean[:, None])[:, 1:]


def kept_facts(
    probability: Float[np.ndarray, " facts"],
    samples: float,
    labels: int,
    hidden: float,
    dim: int,
) -> Kept | None:
    """Return the facts that a memory of hidden units and outputs in R^d keeps; None if unsolved.

    >>> p = np.arange(1.0, 257) ** -1
    >>> kept = kept_facts(p / p.sum(), math.inf, labels=256, hidden=26, dim=26)
    >>> round(kept.recall, 2), round(kept.per_fact, 2), kept.kept
    (0.71, 0.19, 40)
    """
    frequencies = grouped(np.ones(len(probability)), probability, _FINE)
    drawn = facts_drawn(frequencies, samples)
    parameters = min(hidden, math.ceil(drawn.number.sum())) * dim
    memory = trained_memory(labels, parameters, drawn, dim)
    if math.isnan(memory.signal):
        return None
    number, p = frequencies
    if math.isinf(samples):
        seen, recall = np.ones(len(p)), memory.recall(p * number.sum())
    else:
        mean = samples * p
        few = _chances(np.minimum(mean, _OFTEN)) @ memory.recall(_COUNTS)
        seen, recall = -np.expm1(-mean), np.where(mean < _OFTEN, few, memory.recall(mean))
    # Classes are from rare to frequent, and so is recall from low to high.
    half = float(np.exp(np.interp(0.5, np.maximum.accumulate(recall), np.log(p))))
    if recall.min() > 0.5 or recall.max() < 0.5:
        half = float(recall.max() < 0.5)
    return Kept(
        seen=float(number @ (p * seen)),
        recall=float(number @ (p * recall)),
        per_fact=float(number @ recall / number.sum()),
        half_frequency=half,
        kept=int((probability >= half).sum()),
        frequencies=p,
        recalls=recall,
    )
