"""When a training is evaluated: at every step at first, then ever further apart."""

from __future__ import annotations

from recallscope.problem.problem import Problem

_PER_OCTAVE = 3
LOOK_SAMPLES = 1024
"""Fresh samples on which a training of the paper's model is evaluated."""
_OF_A_MODULE = 256  # evaluations would cost as much as its steps


def look_samples(problem: Problem) -> int:
    """On how many fresh samples a training is evaluated.

    >>> look_samples(Problem(vocab=8, samples=1, dim=4, length=2, learner="adam", model="gpt"))
    256
    """
    return LOOK_SAMPLES if problem.part("model").batched else _OF_A_MODULE


def grid(steps: int) -> list[int]:
    """Steps from zero to the last, at least an eighth apart.

    >>> grid(20)
    [0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20]
    """
    numbers = {0, steps}
    exponent = 0
    while (step := round(2 ** (exponent / _PER_OCTAVE))) < steps:
        numbers.add(step)
        exponent += 1
    return sorted(numbers)
