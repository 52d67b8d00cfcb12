"""Learning rates for those who give none: they converge at the sizes where the laws were measured.

Logits are u · V f, with outputs u of length one and features f of the marked token. A step of
gradient descent is stable below 2 over the largest curvature of the loss. That is the curvature of
the features times that of the outputs. Optimisers that set the size of a step themselves get a rate
that moves the logits of one fact by a fraction of one.
"""

from __future__ import annotations

import math

from recallscope.problem.problem import Problem
from recallscope.theory.hermite import features

_DESCENT, _ADAM, _MUON = 0.5, 0.02, 0.05


def descent_rate(problem: Problem) -> float:
    """A quarter of the largest stable step, at zero and with attention on the trigger.

    >>> round(descent_rate(Problem(vocab=512, samples=1, dim=64, length=8)))
    610
    """
    edge = (1 + math.sqrt(problem.dim / problem.vocab)) ** 2 / problem.dim
    if problem.width is None:
        reads = edge + problem.trigger_in_values
    else:
        mean, slope = _moments(problem)[:2]
        reads = problem.width * (mean**2 + edge * slope**2)
    return _DESCENT / (edge * reads)


def largest_stable_step(problem: Problem) -> float:
    """2 over the curvature of the loss."""
    return 4 * descent_rate(problem)


def adam_rate(problem: Problem) -> float:
    """For steps that move every weight alike.

    >>> round(adam_rate(Problem(vocab=512, samples=1, dim=64, length=8)), 3)
    0.16
    """
    return _ADAM * problem.dim / (math.sqrt(problem.hidden) * _length(problem))


def spectral_rate(problem: Problem) -> float:
    """For steps with equal singular values.

    >>> round(spectral_rate(Problem(vocab=512, samples=1, dim=64, length=8)), 3)
    0.4
    """
    return _MUON * math.sqrt(problem.dim) / _length(problem)


def _length(problem: Problem) -> float:
    """The root mean square of the length of what is read."""
    if problem.width is None:
        return math.sqrt(1 + problem.trigger_in_values)
    return math.sqrt(problem.width * _moments(problem)[2])


def _moments(problem: Problem) -> tuple[float, float, float]:
    """The mean, the slope and the mean square of one hidden unit, over tokens."""
    assert problem.activation is not None
    at = features(problem.activation, math.sqrt(1 + problem.trigger_in_values))
    return float(at.coefficients[0]), float(at.coefficients[1]), float(at.square)
