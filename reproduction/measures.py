"""What statements need in addition to runs: measures of one problem at one seed.

Each is a custom experiment of recallscope: a function that returns numbers by name.
"""

from __future__ import annotations

from recallscope.problem.problem import Problem

NOISES = ("mean_bias", "gradient_noise", "mlp_noise")


def noises(problem: Problem, seed: int) -> dict[str, float]:
    """The three noises that the paper names, in the first gradient, each measured separately.

    >>> variances = noises(Problem(vocab=64, samples=256, dim=16, length=4, width=32), seed=0)
    >>> sorted(variances) == sorted(NOISES)
    True
    """
    from recallscope.measure.monte_carlo import measure  # loads torch, which a report needs not

    variances = measure(problem, seed)
    return {name: variances["first_gradient", name] for name in NOISES}


def decoders(problem: Problem, seed: int) -> dict[str, float]:
    """The fraction of labels that each decoder finds in the first gradient."""
    from reproduction.decoders import decoder_accuracy

    return decoder_accuracy(problem, seed)
